package show

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
)

// A Filter says which records are wanted. The zero Filter wants all.
type Filter struct {
	// Methods are patterns with * and ? of which the method, the kind of update
	// or the event must match one.
	Methods []string
	// Session begins the id of the session, as the client calls it.
	Session string
	// From is client, shim, agent or agent#N.
	From string
	// Errors wants what went wrong only.
	Errors bool
	// Slow wants responses that took at least that.
	Slow time.Duration
	// Where is a query that the frame must answer with more than nothing, false
	// and null; see [Where].
	Where string
	// Seq is a number, or a range: 10-20, 10-, -20.
	Seq string
}

// Compile makes a test of the filter.
func (f *Filter) Compile() (func(*trace.Record) bool, error) {
	var tests []func(*trace.Record) bool
	add := func(t func(*trace.Record) bool) { tests = append(tests, t) }
	if f.Seq != "" {
		first, last, err := seqs(f.Seq)
		if err != nil {
			return nil, err
		}
		add(func(r *trace.Record) bool { return first <= r.Seq && r.Seq <= last })
	}
	if len(f.Methods) > 0 {
		match := globs(f.Methods)
		add(func(r *trace.Record) bool {
			return match(r.Method) || r.Update != "" && match(r.Update) || r.Event != "" && match(r.Event)
		})
	}
	if f.Session != "" {
		tail, isTail := strings.CutPrefix(f.Session, "…")
		add(func(r *trace.Record) bool {
			return isTail && strings.HasSuffix(r.Session, tail) || strings.HasPrefix(r.Session, f.Session)
		})
	}
	if f.From != "" {
		from, err := peers(f.From)
		if err != nil {
			return nil, err
		}
		add(func(r *trace.Record) bool { return from(source(r)) })
	}
	if f.Errors {
		add(Wrong)
	}
	if f.Slow > 0 {
		add(func(r *trace.Record) bool { return r.Request != nil && r.Took >= f.Slow })
	}
	if f.Where != "" {
		where, err := Where(f.Where)
		if err != nil {
			return nil, err
		}
		add(func(r *trace.Record) bool { return r.IsFrame() && r.JSON && where(r.Body) })
	}
	return func(r *trace.Record) bool {
		for _, t := range tests {
			if !t(r) {
				return false
			}
		}
		return true
	}, nil
}

// Any reports whether the filter leaves anything out.
func (f *Filter) Any() bool {
	return len(f.Methods) > 0 || f.Session != "" || f.From != "" || f.Errors || f.Slow > 0 || f.Where != "" || f.Seq != ""
}

// Wrong tells what went wrong: an error, a tool that failed, a process that had to
// be ended or ended badly, a session that could not be restored, and what the
// capture itself lost.
func Wrong(r *trace.Record) bool {
	switch r.Event {
	case "":
	case "gap", "stall":
		return true
	case "condemn":
		return string(r.Text) != "the client is gone" // that is how it ends in order
	case "restore":
		return string(r.Text) == "failed"
	case "exit":
		return !strings.HasSuffix(string(r.Text), "code 0")
	default:
		return false
	}
	if r.Failed {
		return true
	}
	return (r.Update == "tool_call_update" || r.Update == "tool_call") && toolFailed(r.Body)
}

// source is who a record comes from. What happened to a process is the
// process's, any other event the shim's.
func source(r *trace.Record) proxy.Peer {
	switch r.Event {
	case "":
		return r.From
	case "spawn", "exit", "stderr":
		return proxy.AgentPeer(r.Process())
	}
	return proxy.Shim
}

func peers(name string) (func(proxy.Peer) bool, error) {
	switch name {
	case "client":
		return func(p proxy.Peer) bool { return p == proxy.Client }, nil
	case "shim":
		return func(p proxy.Peer) bool { return p == proxy.Shim }, nil
	case "agent":
		return func(p proxy.Peer) bool { return p.Gen() > 0 }, nil
	}
	text, ok := strings.CutPrefix(name, "agent#")
	n, err := strconv.ParseInt(text, 10, 32)
	if !ok || err != nil || n < 1 {
		return nil, fmt.Errorf("nobody is called %q; say client, shim, agent or agent#1", name)
	}
	return func(p proxy.Peer) bool { return p.Gen() == int(n) }, nil
}

func seqs(text string) (first, last uint64, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, last = 0, math.MaxUint64
	if from != "" {
		first, err = strconv.ParseUint(from, 10, 64)
	}
	if to != "" && err == nil {
		last, err = strconv.ParseUint(to, 10, 64)
	}
	if err != nil || from == "" && to == "" || first > last {
		return 0, 0, fmt.Errorf("%q is no range of seqs; say 17, 10-20, 10- or -20", text)
	}
	return first, last, nil
}

// globs makes a test of patterns. The separators of methods are nothing special.
func globs(patterns []string) func(string) bool {
	var alternatives []string
	for _, p := range patterns {
		p = regexp.QuoteMeta(p)
		p = strings.ReplaceAll(strings.ReplaceAll(p, `\*`, ".*"), `\?`, ".")
		alternatives = append(alternatives, p)
	}
	re := regexp.MustCompile(`^(?s:` + strings.Join(alternatives, "|") + `)$`)
	known := map[string]bool{}
	return func(s string) bool {
		yes, ok := known[s]
		if !ok {
			yes = re.MatchString(s)
			if len(known) < 1000 { // the names are the peers'
				known[s] = yes
			}
		}
		return yes
	}
}

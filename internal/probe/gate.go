package probe

import "strings"

// Verdict is what came of a gate.
type Verdict string

// The verdicts. Of Fallback the seed has for each gate what is done instead.
const (
	Pass     Verdict = "PASS"
	Fallback Verdict = "FALLBACK"
	Fail     Verdict = "FAIL"
	NotRun   Verdict = "NOT-RUN"
)

// The reasons why a gate was not run, for programs.
const (
	WhyQuota       = "quota"       // it spends quota, and that was not allowed
	WhyLogin       = "login"       // the agent wants a login first
	WhySession     = "session"     // no session can be opened
	WhyNotOffered  = "not-offered" // the agent does not offer it
	WhySystem      = "system"      // this system cannot tell
	WhyInterrupted = "interrupted"
)

// phase is when a gate is run: its figures must not be disturbed by others, or
// depend on all that the others have seen.
type phase int

const (
	alongside phase = iota // beside others
	first                  // alone, before them
	last                   // alone, after them
)

// gate is a question to an agent.
type gate struct {
	id, title string
	// criterion says what PASS means, and source who says so.
	criterion, source string
	// live marks what spends quota, session what needs one to be opened.
	live, session bool
	phase         phase
	run           func(*trial)
}

// About is what a gate is, for a list of them.
type About struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	Criterion string `json:"criterion"`
	Source    string `json:"source"`
	Live      bool   `json:"live"`
}

func (g *gate) about() About { return About{g.id, g.title, g.criterion, g.source, g.live} }

// seed marks a criterion of the adoption plan's section 8; the others are ACP's,
// by the page of https://agentclientprotocol.com that has the sentence.
const (
	seed = "seed, section 8"
	acp  = "agentclientprotocol.com/protocol/"
	rpc  = "jsonrpc.org/specification"
)

// gates are all, in the order of a report.
func gates() []*gate {
	var all []*gate
	for _, theme := range [][]*gate{
		helloGates(), modelGates(), usageGates(), toolGates(), cancelGates(), startGates(), mcpGates(), slashGates(),
		sessionGates(), permissionGates(), clientGates(), contentGates(), errorGates(), frameGates(), endGates(),
	} {
		all = append(all, theme...)
	}
	return all
}

// Gates is what can be asked.
func Gates() []About {
	var list []About
	for _, g := range gates() {
		list = append(list, g.about())
	}
	return list
}

// Check is an *UnknownError where one of these names is no gate's.
func Check(names []string) error {
	if _, unknown := chosen(names); len(unknown) > 0 {
		return &UnknownError{unknown}
	}
	return nil
}

// chosen are the gates with these names; D means D.tool as well. It also gives
// the names that are none.
func chosen(names []string) (list []*gate, unknown []string) {
	all := gates()
	if len(names) == 0 {
		return all, nil
	}
	hit := make([]bool, len(names))
	for _, g := range all {
		taken := false
		for i, name := range names {
			if strings.EqualFold(g.id, name) || len(g.id) > len(name) && g.id[len(name)] == '.' && strings.EqualFold(g.id[:len(name)], name) {
				hit[i], taken = true, true
			}
		}
		if taken {
			list = append(list, g)
		}
	}
	for i, name := range names {
		if !hit[i] {
			unknown = append(unknown, name)
		}
	}
	return list, unknown
}

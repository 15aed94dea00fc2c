package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/proxy"
)

// TestLies has agents that look as if they passed.
func TestLies(t *testing.T) {
	t.Parallel()
	f := func(mode string) []string { return []string{"fake", mode} }
	a := func(answers ...string) []string { return append([]string{"fake", "plain"}, answers...) }
	hello := func(members string) []string { return a("initialize", `"result":{`+members+`}`) }
	const (
		both   = `{"id":"model","category":"model","type":"select","currentValue":"a","options":[{"value":"a"},{"value":"b"}]},{"id":"mode","category":"mode","type":"select","currentValue":"x","options":[{"value":"x"},{"value":"y"}]}`
		opened = `"result":{"sessionId":"one","configOptions":[` + both + `]}`
		modes  = `"result":{"sessionId":"one","modes":{"currentModeId":"a","availableModes":[{"id":"a"},{"id":"b"}]}}`
		images = `"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true}},"authMethods":[]`
	)
	tryFaults(t, []faultCase{
		{name: "a version in quotes", agent: hello(`"protocolVersion":"1"`), gate: "hello", verdict: Fail, figure: `protocolVersion is "1"`},
		{name: "no version", agent: hello(`"authMethods":[]`), gate: "hello", verdict: Fail, figure: "protocolVersion is lacking"},
		{name: "half a version", agent: hello(`"protocolVersion":1.5`), gate: "version", verdict: Fail, figure: "99 is answered with 1.5"},
		{name: "another version", agent: hello(`"protocolVersion":2,"agentCapabilities":{},"authMethods":[]`), gate: "hello", verdict: Fallback, figure: "version 1 is answered with 2"},
		{name: "methods by name", agent: hello(`"protocolVersion":1,"agentCapabilities":{},"authMethods":{"id":"a","name":"b"}`), gate: "hello", verdict: Fail, figure: "authMethods is {"},
		{name: "no word of a login", agent: a("session/new", `"error":{"code":-32000,"message":"no"}`), gate: "auth.none", verdict: Fallback, figure: "says what to do"},
		{name: "a word of a login", agent: a("session/new", `"error":{"code":-32000,"message":"no","data":{"message":"set auth.type"}}`), gate: "auth.none", verdict: Pass, figure: "refused: -32000"},
		{name: "an answer that says nothing", agent: a("session/close", `"note":1`), gate: "close", verdict: Fail, figure: "answered session/close with neither a result nor an error"},
		{name: "set_model does nothing", agent: a("session/new", opened, "session/set_model", `"result":{}`, "session/set_config_option", opened), gate: "A.set_model", verdict: Fail, figure: `the model is "a" instead of "b"`},
		{name: "set_mode does nothing", agent: a("session/new", opened, "session/set_mode", `"result":{}`, "session/set_config_option", opened), gate: "A.set_mode", verdict: Fail, figure: `the mode is "x" instead of "y"`},
		{name: "set_mode alone", agent: a("session/new", modes, "session/set_mode", `"result":{}`), gate: "A.set_mode", verdict: Pass, figure: "by its answer; nothing else tells"},
		{name: "a cancel for show", agent: f("goes-on"), gate: "D", verdict: Fail, figure: "the cancel is answered, and the turn goes on behind that; and the agent offers no session/load"},
		{name: "a dead server, and nothing to say", agent: []string{"fake", "dumb", "initialize", `"result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`}, gate: "F.dead", verdict: Fail, figure: "ends without a word"},
		{name: "the same ids in each turn", agent: f("same-ids"), gate: "D.tool", verdict: Fallback, figure: "the next turn ends well, and does not know what came before"},
		{name: "two turns, nothing asked", agent: f("second"), gate: "parallel", verdict: Fallback, figure: "two turns at once end in order"},
		{name: "two turns, one lost", agent: f("one-turn"), gate: "parallel", verdict: Fail, figure: "did not answer session/prompt within", set: func(o *Options) { o.Turn = 300 * time.Millisecond }},
		{name: "not cancelled, and forgetful", agent: f("shared"), gate: "D.tool", verdict: Fail, figure: "before there was a running tool to cancel"},
		{name: "an edit for show", agent: f("lies"), gate: "C", verdict: Fail, figure: "reported as completed, and the file was not made"},
		{name: "an update of nothing", agent: f("stray"), gate: "C.states", verdict: Fallback, figure: "2 were updated without having begun"},
		{name: "a chunk is lost", agent: f("drops"), gate: "stream", verdict: Fallback, figure: "the text is not the one that was asked for"},
		{name: "denied, without an end", agent: f("no-stop"), gate: "permission.deny", verdict: Fail, figure: "no stopReason of ACP's"},
		{name: "a command fails", agent: []string{"fake", "plan", "session/prompt", `"error":{"code":-32603,"message":"no"}`}, gate: "F.7", verdict: Fail, figure: "answered with -32603 no"},
		{name: "red as a part of words", agent: []string{"fake", "shared", "initialize", `"result":{` + images + `}`}, gate: "prompt.image", verdict: Fail, figure: `no "red" in it`},
		{name: "a list in a circle", agent: a("session/list", `"result":{"sessions":[],"nextCursor":"x"}`), gate: "list", verdict: Fail, figure: "a cursor of it leads back"},
		{name: "results for all", agent: f("accepts"), gate: "malformed", verdict: Pass, figure: "what follows is read"},
		{name: "CRLF is no end", agent: f("no-crlf"), gate: "malformed", verdict: Fail, figure: "CRLF is not read: answered with -32700"},
		{name: "an error of another kind", agent: f("grumbles"), gate: "malformed", verdict: Fallback, figure: "text: answered with -32603"},
	})
}

// TestSecretsOfFigures has an agent repeat what it must keep to itself.
func TestSecretsOfFigures(t *testing.T) {
	t.Parallel()
	opt := options(t, "fake", "tells", "initialize", `"result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`)
	opt.Gates, opt.Secret = []string{"F", "F.shapes"}, NewSecret()
	r := probed(t, opt)
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Gate("F"); g.Verdict != Fail || !strings.Contains(g.Figure, "the entry is refused: -32603 ") || strings.Contains(string(b), opt.Secret) {
		t.Errorf("%s %q", g.Verdict, g.Figure)
	}
	opt = options(t, "fake", "dies", "https://accounts.google.com/o/oauth2/v2/auth?state=s3cr3t&client_id=x")
	_, err = Run(context.Background(), opt)
	if err == nil || !strings.Contains(err.Error(), "its stderr ends with") || strings.Contains(err.Error(), "s3cr3t") {
		t.Error(err)
	}
}

func TestHolds(t *testing.T) {
	for _, c := range []struct {
		answer, word string
		want         bool
	}{
		{"**Red**, then blue.", "red", true}, {"red", "red", true}, {"It was rendered", "red", false}, {"shared red", "red", true},
		{"reddish", "red", false}, {"", "red", false}, {"1\n59\n60", "60", true}, {"160", "60", false}, {"ΰred", "red", false},
	} {
		if got := holds(c.answer, c.word); got != c.want {
			t.Errorf("%q in %q: %t", c.word, c.answer, got)
		}
	}
	for text, want := range map[string]bool{"1\n2\n3": true, "1 2": false, "1, 2, 3.": true, "1 3 2": false, "1 2 2 3": false, "1 2 3 4": false, "": false} {
		if got := counts(text, 3); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// countingTap counts the processes that run.
type countingTap struct {
	live  int
	frame func(live int, f *proxy.Frame)
}

func (c *countingTap) Frame(f *proxy.Frame) { c.frame(c.live, f) }
func (c *countingTap) Event(e *proxy.Event) {
	switch e.Kind {
	case "spawn":
		c.live++
	case "exit":
		c.live--
	}
}

// TestTidyUpAlone deletes conversations when no other process can hold them.
func TestTidyUpAlone(t *testing.T) {
	t.Parallel()
	opt := simulated(t, "--start-delay", "100ms")
	opt.Live, opt.Jobs = false, 4
	opt.Gates = []string{"A.names", "A.set_mode", "list", "names", "ids", "errors"}
	deletes := 0
	opt.Tap = &countingTap{frame: func(live int, f *proxy.Frame) {
		if f.From != proxy.Client || gjson.GetBytes(f.Bytes, "method").Str != "session/delete" {
			return
		}
		if deletes++; live != 1 {
			t.Errorf("%d processes run", live)
		}
	}}
	if probed(t, opt); deletes == 0 {
		t.Error("nothing was deleted")
	}
}

// tapOf calls a function for each frame.
type tapOf func(f *proxy.Frame)

func (t tapOf) Frame(f *proxy.Frame) { t(f) }
func (tapOf) Event(*proxy.Event)     {}

// TestInterruptAtTheEnd leaves no conversation behind, whenever it comes.
func TestInterruptAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"while it is tidied up": "session/delete", "before that": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opt := simulated(t, "--build", "1.3.0")
			opt.Gates = []string{"list"}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if at == "" {
				opt.Done = func(*Result, int, int) { cancel() }
			}
			opt.Tap = tapOf(func(f *proxy.Frame) {
				if at != "" && gjson.GetBytes(f.Bytes, "method").Str == at {
					cancel()
				}
			})
			r, err := Run(ctx, opt)
			if err != nil {
				t.Fatal(err)
			}
			home := strings.TrimPrefix(opt.ExtraEnv[0], "GEMINI_HOME=")
			left, _ := filepath.Glob(filepath.Join(home, "antigravity-acp", "conversations", "*.db"))
			if ctx.Err() == nil || len(r.Left)+len(left) > 0 {
				t.Errorf("conversations are left: %v, %v", r.Left, left)
			}
		})
	}
}

// TestInterruptedRestore is no verdict about the agent.
func TestInterruptedRestore(t *testing.T) {
	t.Parallel()
	opt := simulated(t, "--cancel", "ignore")
	opt.Gates = []string{"D"}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var loads atomic.Int32
	opt.Tap = tapOf(func(f *proxy.Frame) {
		if gjson.GetBytes(f.Bytes, "method").Str == "session/load" {
			loads.Add(1)
			cancel()
		}
	})
	r, err := Run(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	if loads.Load() == 0 {
		t.Error("nothing was loaded")
	}
	for _, id := range []string{"D", "D.load"} {
		if g := r.Gate(id); g.Verdict == Fail {
			t.Errorf("%s: %s %q", id, g.Verdict, g.Figure)
		}
	}
}

// TestForStart gives slow starts their time, and those that never come little.
func TestForStart(t *testing.T) {
	r := &run{opt: Options{Timeout: time.Minute}, ctx: context.Background(), late: lateLimit}
	if d := r.forStart(); d != time.Minute {
		t.Error(d)
	}
	r.slow = lateLimit
	if d := r.forStart(); d != latePatience {
		t.Error(d)
	}
}

// TestUsagePlaces notes each place once, however often figures are sent there.
func TestUsagePlaces(t *testing.T) {
	tape := &tape{}
	for i := range 40 {
		tape.look(1, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"session/update","params":{"update":{"sessionUpdate":"usage_update","used":%d}}}`, i))
	}
	tape.look(1, []byte(`{"jsonrpc":"2.0","id":1,"result":{"usage":{"totalTokens":5}}}`))
	if len(tape.usage) != 2 || tape.usage[1].path != "usage.totalTokens" {
		t.Errorf("%+v", tape.usage)
	}
}

// TestFilesOffered reads nothing that could hold the probe up.
func TestFilesOffered(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &files{dir: dir}
	read := func() string {
		b, _ := json.Marshal(map[string]string{"path": large})
		body, _ := f.answer("fs/read_text_file", gjson.ParseBytes(b), "1")
		return body
	}
	if body := read(); body != `"result":{"content":"x"}` {
		t.Error(body)
	}
	if err := os.Truncate(large, 1<<30); err != nil {
		t.Fatal(err)
	}
	if body := read(); !strings.Contains(body, "only small and regular files are here") {
		t.Errorf("%.200s", body)
	}
}

//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"acp-shim/fixtures/bridge"
)

// The parity contract of the seed (pi-antigravity-bridge's adoption plan,
// section 6), box by box, run on the bare agent and through the shim. Boxes
// that are about pi's own code have no row: its timers and the parking of a
// turn, its doctor, its session store and the keys in it, its catalog and its
// ask tool.
//
// A row whose bare run fails is what the shim is for; what fails there is said,
// so that the row also fails when the agent gets better.
var parity = []parityRow{
	{"text arrives as deltas, in order, nothing twice", "rc01", nil, nil, textStreams, ""},
	{"cumulative resend is cut to what is new", "1.1.1", nil, []string{"--quirk", "cumulative-resend=on"}, textResent, "repeats what was said"},
	{"continuity over a new process by session/load", "rc01", nil, nil, continuity, ""},
	{"what load replays comes before its answer, in full text", "1.2.1", nil, nil, replayed, ""},
	{"two prompts at a time run one after the other", "rc01", nil, nil, serialized, "Concurrent receive_steps()"},
	{"two sessions at a time stay apart", "1.3.0", nil, nil, apart, ""},
	{"bridge: the client's own entry with its token", "rc01", nil, nil, bridgeOwn, ""},
	{"bridge: injected for a client that knows of none", "rc01", nil, nil, bridgeInjected, "is not configured"},
	{"abort: cancelled, answered, and the next turn works", "rc01", nil, nil, aborted, "Method not found"},
	{"abort as ACP has it, by a notification", "rc01", nil, nil, abortedByNotice, "goes on"},
	{"abort during a command ends both at once", "1.2.1", nil, nil, abortedCommand, "waits for the command"},
	{"abort of a turn that has wedged", "1.1.1", nil, nil, abortedWedge, "never answered"},
	{"abort while nobody answers a permission request", "1.2.1", []string{"--cancel", "ignore"}, nil, abortedPermission, "never answered"},
	{"abort of what answers with an error", "1.1.1", []string{"--cancel", "error"}, nil, abortedError, "-32000"},
	{"a restart resumes the right one of two conversations", "1.3.0", nil, nil, restarted, ""},
	{"a model set on a loaded session takes effect", "rc01", nil, nil, modelOnLoaded, ""},
	{"model and mode outlive the process that was told", "rc01", nil, nil, configKept, "model=gemini-3.7-flash-high mode=default"},
	{"model catalog and configuration are the agent's", "1.3.0", nil, nil, catalog, ""},
	{"the prompt reaches the agent as it was written", "1.1.1", nil, nil, promptIdentical, ""},
	{"images and embedded context reach the agent", "rc01", nil, nil, blocks, ""},
	{"usage is present", "1.3.0", nil, nil, usagePresent, ""},
	{"usage is absent, and nothing is made up", "rc01", nil, nil, usageAbsent, ""},
	{"an agent that cannot be started is visible", "rc01", nil, nil, missingAgent, "no such file"},
	{"no agent at all is visible, with where it was looked for", "rc01", nil, nil, noAgent, "not found"},
	{"a login that is missing is visible, in the agent's words", "rc01", []string{"--login", "none"}, nil, loginMissing, ""},
	{"a protocol error is visible, with the field it names", "1.2.1", nil, nil, protocolError, ""},
	{"a crash in a turn is visible, and the next turn works", "1.2.1", nil, nil, crashVisible, "no answer"},
	{"a client that is killed leaves nothing running", "1.3.0", nil, nil, killedClient, "still runs"},
	{"a turn that failed with end_turn can be told from a good one", "rc01", nil, nil, failedTurn, "nothing tells"},
	{"an empty answer can be told from a good one", "rc01", nil, nil, blankTurn, "nothing tells"},
	{"the text of a cancel does not leak into an answer", "1.1.1", nil, nil, leak, "context canceled"},
	{"only protocol comes on stdout", "rc01", nil, nil, noNoise, "no protocol"},
	{"the first permission that allows, allows once", "1.1.1", nil, nil, permissionOnce, "allow_always"},
	{"a client's other names are understood", "rc01", nil, nil, otherNames, "-32602"},
}

type parityRow struct {
	name, build string
	sim, shim   []string // flags
	run         func(p *parityRun) error
	bare        string // what the bare agent's failure says; "" where it passes
}

// parityRun is one row on one of its two sides. A row takes as many clients as
// it needs; all are of the same home.
type parityRun struct {
	*stage
	row     parityRow
	through bool
	env     []string
}

func TestParity(t *testing.T) {
	results := make([][2]string, len(parity))
	t.Run("rows", func(t *testing.T) {
		for i, row := range parity {
			for side, name := range []string{"bare", "through"} {
				t.Run(strings.ReplaceAll(row.name, " ", "-")+"/"+name, func(t *testing.T) {
					t.Parallel()
					run := &parityRun{stage: newStage(t), row: row, through: side == 1}
					run.untidy = !run.through
					err := row.run(run)
					results[i][side] = "passes"
					if err != nil {
						results[i][side] = "fails: " + err.Error()
					}
					if want := map[bool]string{false: row.bare, true: ""}[run.through]; (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want %q", name, err, want)
					}
				})
			}
		}
	})
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "row\tbuild\tbare\tthrough")
	for i, row := range parity {
		fmt.Fprintf(w, "%s\t%s\t%.70s\t%.70s\n", row.name, row.build, strings.ReplaceAll(results[i][0], "\n", " "), results[i][1])
	}
	w.Flush()
	t.Log("\n" + table.String())
}

func textStreams(p *parityRun) error {
	c := p.connect()
	s := c.session()
	from := c.count()
	said, r := c.turn(s, "stream 300")
	var want strings.Builder
	for i := 1; i <= 300; i++ {
		fmt.Fprintln(&want, i)
	}
	if said+"\n" != want.String() {
		return fmt.Errorf("said %q", said)
	}
	all := ""
	deltas := 0
	for _, l := range c.since(from, -1) {
		text := spoken([]line{l})
		if all != "" && len(text) > len(all) && strings.HasPrefix(text, all) {
			return errors.New("all text so far comes again")
		}
		all += text
		if text != "" {
			deltas++
		}
	}
	if deltas < 300 || r.Get("result.stopReason").Str != "end_turn" {
		return fmt.Errorf("%d deltas, then %s", deltas, r.Raw)
	}
	return nil
}

func textResent(p *parityRun) error {
	c := p.connect()
	if said, _ := c.turn(c.session(), "resend"); said != "Each of these repeats what was said before." {
		return fmt.Errorf("the answer repeats what was said: %q", said)
	}
	return nil
}

func continuity(p *parityRun) error {
	c := p.connect()
	s := c.session()
	if err := c.expect(s, "Reply with exactly: PARITY-1. No tools.", "PARITY-1."); err != nil {
		return err
	}
	c.closeInput()
	c.wait()
	c = p.connect()
	if r := c.load(s); !r.Get("result").Exists() {
		return fmt.Errorf("load: %s", r.Raw)
	}
	return c.expect(s, "history", "turns=1 last=Reply with exactly: PARITY-1. No tools.")
}

func replayed(p *parityRun) error {
	c := p.connect()
	s := c.session()
	c.turn(s, "one two three four")
	from := c.count()
	id := c.request("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, s, p.cwd))
	at := c.must(from, "the load's answer", isAnswer(id))
	var got []string
	for _, l := range c.since(from, at) {
		if u := l.Get("params.update"); strings.HasSuffix(u.Get("sessionUpdate").Str, "_message_chunk") {
			got = append(got, u.Get("sessionUpdate").Str+": "+u.Get("content.text").Str)
		}
	}
	if want := []string{"user_message_chunk: one two three four", "agent_message_chunk: You said: one two three four"}; !slices.Equal(got, want) {
		return fmt.Errorf("replayed %q", got)
	}
	if err := c.expect(s, "history", "turns=1 last=one two three four"); err != nil {
		return err
	}
	for _, l := range c.since(at, -1) {
		if isUpdate("user_message_chunk")(l) {
			return fmt.Errorf("history after the load's answer: %s", l.Raw)
		}
	}
	return nil
}

func serialized(p *parityRun) error {
	c := p.connect()
	s := c.session()
	first, from := c.prompt(s, "stream 20 every 5ms")
	c.must(from, "a first delta", isUpdate("agent_message_chunk"))
	second, _ := c.prompt(s, "Reply with exactly: PARITY-B. No tools.")
	// The bare agent answers the second only; the first one's end is looked for
	// where it would have to be.
	b := c.must(from, "the second answer", isAnswer(second))
	a := -1
	for i, l := range c.since(0, b) {
		if isAnswer(first)(l) {
			a = i
		}
	}
	if a < 0 {
		return fmt.Errorf("the second prompt was answered before the first, after %q", spoken(c.since(from, b)))
	}
	if said := spoken(c.since(from, a)); !strings.HasSuffix(said, "19\n20") {
		return fmt.Errorf("the first turn said %q", said)
	}
	if said := spoken(c.since(a, b)); said != "PARITY-B." {
		return fmt.Errorf("the second turn said %q", said)
	}
	return nil
}

func apart(p *parityRun) error {
	c := p.connect()
	a, b := c.session(), c.session()
	idA, from := c.prompt(a, "stream 50 every 2ms")
	idB, _ := c.prompt(b, "Reply with exactly: PARITY-B. No tools.")
	said, r := c.rest(b, idB, from)
	if said != "PARITY-B." {
		return fmt.Errorf("one session said %q, %s", said, r.Raw)
	}
	if said, r := c.rest(a, idA, from); !strings.HasSuffix(said, "49\n50") {
		return fmt.Errorf("the other said %q, %s", said, r.Raw)
	}
	return nil
}

func (p *parityRun) bridge() (*bridge.Server, string) {
	token := rand.Text()
	b, err := bridge.Start(context.Background(), token)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = b.Close() })
	return b, token
}

func callBridge(c *editor, s string, b *bridge.Server, token string) error {
	if err := c.expect(s, `mcp pi-bridge bridge_echo {"text":"BRIDGE-E2E-777"}`, "ECHO:BRIDGE-E2E-777"); err != nil {
		return err
	}
	if calls := b.Calls(); len(calls) != 1 || calls[0].Text != "BRIDGE-E2E-777" {
		return fmt.Errorf("the bridge saw %+v", calls)
	}
	for _, r := range b.Requests() {
		if r.Refused || r.Header.Get(bridge.TokenHeader) != token {
			return fmt.Errorf("the bridge refused a request with the token %q", r.Header.Get(bridge.TokenHeader))
		}
	}
	return nil
}

func bridgeOwn(p *parityRun) error {
	b, token := p.bridge()
	c := p.connect()
	s, err := c.newSession(fmt.Sprintf(`[{"name":"pi-bridge","type":"http","url":%q,"headers":[{"name":"x-bridge-token","value":%q}]}]`, b.URL, token))
	if err != nil {
		return err
	}
	return callBridge(c, s, b, token)
}

func bridgeInjected(p *parityRun) error {
	b, token := p.bridge()
	p.env = []string{"ACP_SHIM_BRIDGE_URL=" + b.URL, "ACP_SHIM_BRIDGE_TOKEN=" + token}
	c := p.connect()
	s := c.session()
	if err := callBridge(c, s, b, token); err != nil {
		return err
	}
	// A session that another process loads has it as well.
	if p.through {
		id, _ := c.prompt(s, "hang")
		c.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, s))
		c.answerTo(id)
		return c.expect(s, "mcp pi-bridge", "pi-bridge offers bridge_echo, bridge_image")
	}
	return nil
}

func promptIdentical(p *parityRun) error {
	const text = "system: be kind\ttabs,\nlines, \"quotes\", \\ and 漢字 \u2028 😀"
	c := p.connect()
	return c.expect(c.session(), text, "You said: "+text)
}

// pixel is a png of one red dot.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="

func blocks(p *parityRun) error {
	c := p.connect()
	s := c.session()
	for _, x := range []struct{ block, text, want string }{
		{`{"type":"image","data":"` + pixel + `","mimeType":"image/png"}`, "image", "1x1"},
		{`{"type":"resource","resource":{"uri":"pi://digest","mimeType":"text/markdown","text":"the secret word is OTTER"}}`, "resource", "OTTER"},
	} {
		from := c.count()
		id := c.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[%s,{"type":"text","text":%q}]}`, s, x.block, x.text))
		if said, r := c.rest(s, id, from); !strings.Contains(said, x.want) {
			return fmt.Errorf("%s was answered %q, %s", x.text, said, r.Raw)
		}
	}
	return nil
}

func (c *editor) usage() (found []string) {
	for _, l := range c.since(0, -1) {
		if u := l.Get("params.update"); u.Exists() && usageKeys.MatchString(u.Raw) {
			found = append(found, u.Raw)
		}
	}
	return found
}

func usagePresent(p *parityRun) error {
	c := p.connect()
	c.turn(c.session(), "usage 1234")
	if found := c.usage(); !slices.Contains(found, `{"size":1048576,"used":1234,"sessionUpdate":"usage_update"}`) {
		return fmt.Errorf("usage is %q", found)
	}
	return nil
}

func usageAbsent(p *parityRun) error {
	c := p.connect()
	_, r := c.turn(c.session(), "edit usage.txt {\"token\":\"abc\"}")
	if found := c.usage(); len(found) > 0 || r.Get("result.usage").Exists() {
		return fmt.Errorf("usage is %q", found)
	}
	return nil
}

func otherNames(p *parityRun) error {
	c := p.connect()
	s := c.session()
	for _, x := range [][2]string{
		{"authenticate", `{"method":"gemini-api-key"}`},
		{"session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configOptionId":"model","value":"gemini-3.8-flash-low"}`, s)},
		{"session/set_mode", fmt.Sprintf(`{"sessionId":%q,"mode":"acceptEdits"}`, s)},
	} {
		if r := c.call(x[0], x[1]); r.Get("error").Exists() {
			return fmt.Errorf("%s: %s", x[0], r.Raw)
		}
	}
	return c.expect(s, "config", "model=gemini-3.8-flash-low mode=auto_edit")
}

//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// cancelRow is one cell of the table of cancels, played with real processes.
type cancelRow struct {
	*editor
	t       *testing.T
	stage   *stage
	outcome cancelOutcome
	withID  bool
	grace   time.Duration
	flags   []string // of the agent, beyond the outcome's

	session   string
	set, told bool // the settings, and a history, that the next turn must have
	did       []deed
	requests  map[int]string // what the client has asked, by id
	victims   []int
	ran       map[int]bool // those that the agent was at
	began     map[int]time.Time
	asks      []int
	tolerated map[int]bool
	ownEnd    bool
	from      int   // where in what came the next turns may begin
	next      []int // their prompts
}

// deed is a frame that the client has sent, or a note.
type deed struct {
	at   time.Time
	text string
}

// shim starts the program, with the agent that the row is about behind it.
func (r *cancelRow) shim() {
	r.t.Helper()
	if r.editor != nil {
		r.closeInput()
		r.wait()
	}
	sim := append(r.stage.sim("1.3.0", "--cancel", r.outcome.cancel), append(slices.Clone(r.outcome.flags), r.flags...)...)
	argv := []string{r.stage.shim, "--standby=off"}
	if r.grace > 0 {
		argv = append(argv, "--cancel-grace="+r.grace.String())
	}
	r.editor = r.stage.start(append(append(argv, "--"), sim...), "GEMINI_API_KEY=x")
	r.editor.answer = nil // by hand
	r.requests, r.did, r.nextID = map[int]string{}, nil, 0
}

func (r *cancelRow) sends(text string) {
	r.did = append(r.did, deed{time.Now(), text})
	r.send(text)
}

// asksFor sends a request.
func (r *cancelRow) asksFor(method, params string) int {
	id := r.nextID
	r.nextID++
	r.requests[id] = method
	r.sends(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
	return id
}

func (r *cancelRow) named() string { return fmt.Sprintf(`{"sessionId":%q}`, r.session) }

func (r *cancelRow) hello() int {
	return r.asksFor("initialize", `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":true}}`)
}

func (r *cancelRow) news() int {
	return r.asksFor("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, r.stage.cwd))
}

func (r *cancelRow) loads() int {
	return r.asksFor("session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, r.session, r.stage.cwd))
}

func (r *cancelRow) prompts(text string) int {
	return r.asksFor("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}`, r.session, text))
}

// opened has a session with a model and a mode that are not the default ones.
func (r *cancelRow) opened() {
	r.shim()
	r.answerTo(r.hello())
	r.session = r.answerTo(r.news()).Get("result.sessionId").Str
	r.setsAll()
}

func (r *cancelRow) setsAll() {
	for _, x := range [][2]string{{"model", "gemini-3.8-flash-low"}, {"mode", "auto_edit"}} {
		r.answerTo(r.asksFor("session/set_config_option", fmt.Sprintf(`{"sessionId":%q,"configId":%q,"value":%q}`, r.session, x[0], x[1])))
	}
	r.set = true
}

// talked is opened, and a turn has ended.
func (r *cancelRow) talked() {
	r.opened()
	r.answerTo(r.prompts("before it"))
	r.told = true
}

// victim sends a prompt that is to be cancelled.
func (r *cancelRow) victim(text string) int {
	id := r.prompts(text)
	r.victims = append(r.victims, id)
	return id
}

// runs sends one and waits until its turn is where it shall be.
func (r *cancelRow) runs(text string) int {
	from := r.count()
	id := r.victim(text)
	r.ran[id] = true
	r.must(from, "the turn", r.where(text))
	return id
}

// where tells the frame that shows that a turn is where it shall be.
func (r *cancelRow) where(text string) func(line) bool {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "command":
		return inProgress
	case "ask":
		return isRequest("session/request_permission")
	case "fs-read":
		return isRequest("fs/read_text_file")
	case "terminal":
		return func(l line) bool {
			if isRequest("terminal/create")(l) {
				r.replies(l, `"result":{"terminalId":"term-1"}`)
			}
			return isRequest("terminal/wait_for_exit")(l)
		}
	}
	return isUpdate("agent_message_chunk")
}

func isRequest(method string) func(line) bool {
	return func(l line) bool { return l.Get("method").Str == method && l.Get("id").Exists() }
}

func (r *cancelRow) replies(l line, body string) {
	r.sends(`{"jsonrpc":"2.0","id":` + l.Get("id").Raw + `,` + body + `}`)
}

// request is the agent's request that was seen last.
func (r *cancelRow) request(method string) line {
	r.t.Helper()
	all := r.since(0, -1)
	for i := len(all) - 1; i >= 0; i-- {
		if isRequest(method)(all[i]) {
			return all[i]
		}
	}
	r.t.Fatalf("no %s came", method)
	return line{}
}

func (r *cancelRow) cancel() { r.cancels(r.session) }

func (r *cancelRow) cancels(session string) {
	if session == r.session {
		r.begin()
	}
	params := fmt.Sprintf(`{"sessionId":%q}`, session)
	if r.withID {
		r.asks = append(r.asks, r.asksFor("session/cancel", params))
		return
	}
	r.sends(`{"jsonrpc":"2.0","method":"session/cancel","params":` + params + `}`)
}

// begin notes from when on the victims are being cancelled.
func (r *cancelRow) begin() {
	for _, id := range r.victims {
		if r.began[id].IsZero() {
			r.began[id] = time.Now()
		}
	}
}

func (r *cancelRow) ends() {
	for _, id := range append(slices.Clone(r.victims), r.asks...) {
		r.answerTo(id)
	}
}

// transcript is what went both ways, in order.
func (r *cancelRow) transcript() string {
	type entry struct {
		at       time.Time
		way, txt string
	}
	var all []entry
	for _, d := range r.did {
		all = append(all, entry{d.at, ">", d.text})
	}
	for _, l := range r.since(0, -1) {
		all = append(all, entry{l.at, "<", strings.TrimSpace(l.Raw)})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return a.at.Compare(b.at) })
	var b strings.Builder
	skipped := 0
	for i, e := range all {
		chunk := func(e entry) bool { return strings.Contains(e.txt, `"agent_message_chunk"`) }
		if chunk(e) && i > 0 && chunk(all[i-1]) && i+1 < len(all) && chunk(all[i+1]) {
			skipped++ // the middle of a stream
			continue
		}
		if skipped > 0 {
			fmt.Fprintf(&b, "           ... %d more\n", skipped)
			skipped = 0
		}
		fmt.Fprintf(&b, "%8.3fs  client %s %.160s\n", e.at.Sub(all[0].at).Seconds(), e.way, strings.Replace(e.txt, `"jsonrpc":"2.0",`, "", 1))
	}
	return b.String()
}

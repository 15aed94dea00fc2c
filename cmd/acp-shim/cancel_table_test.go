//go:build unix

package main

import (
	"strconv"
	"sync"
	"testing"
	"time"
)

func jsonNumber(n int) string { return strconv.Itoa(n) }

// cancelOutcome is what the agent makes of a cancel.
type cancelOutcome struct {
	name, cancel string
	flags        []string
	own          bool // the turn may have its own end
}

var cancelOutcomes = []cancelOutcome{
	{name: "settles", cancel: "honour"},
	{name: "ignores", cancel: "ignore"},
	{name: "settles-late", cancel: "late=40s"},
	{name: "error-and-leak", cancel: "error"},
	{name: "wedged", cancel: "wedge", flags: []string{"--eof", "ignore"}},
	{name: "dies", cancel: "die"},
	{name: "ends-in-the-same-moment", cancel: "race", own: true},
	{name: "method-not-found", cancel: "refuse"},
	{name: "method-not-found-no-id", cancel: "refuse-no-id"},
	{name: "when-the-command-has-ended", cancel: "after-command"},
}

// cancelSituation is what goes on when the cancel comes.
type cancelSituation struct {
	name string
	play func(r *cancelRow)
	// unasked tells that no turn runs at the agent then, so that what it would
	// make of a cancel is the same to it.
	unasked bool
	// patient has the default grace, and both forms of a cancel.
	patient bool
	flags   []string
}

const streams = "stream 1000000 every 5ms"

func cancelDuring(text string, then func(r *cancelRow)) func(r *cancelRow) {
	return func(r *cancelRow) {
		r.talked()
		r.runs(text)
		r.cancel()
		if then != nil {
			then(r)
		}
	}
}

const takenBack = `"result":{"outcome":{"outcome":"cancelled"}}`
const allowed = `"result":{"outcome":{"outcome":"selected","optionId":"allow"}}`

var cancelSituations = []cancelSituation{
	{name: "text-streams", patient: true, play: cancelDuring(streams, nil)},
	{name: "command-runs", play: cancelDuring("command 60s", nil)},
	{name: "permission-cancelled-at-once", play: cancelDuring("ask 60s", func(r *cancelRow) {
		r.replies(r.request("session/request_permission"), takenBack)
	})},
	{name: "permission-allowed-late", play: cancelDuring("ask 60s", func(r *cancelRow) {
		late := r.request("session/request_permission")
		r.ends()
		r.replies(late, allowed)
	})},
	{name: "permission-never-answered", play: cancelDuring("ask 60s", nil)},
	{name: "file-open", play: cancelDuring("fs-read x", nil)},
	{name: "terminal-open", play: cancelDuring("terminal sleep 60", nil)},
	{name: "before-initialize-is-answered", unasked: true, flags: []string{"--start-delay=200ms"}, play: func(r *cancelRow) {
		r.talked()
		r.shim()
		r.hello()
		r.loads()
		r.victim(streams)
		r.cancel()
	}},
	{name: "before-session-new-is-answered", unasked: true, play: func(r *cancelRow) {
		r.shim()
		r.answerTo(r.hello())
		r.session = "not-known-yet"
		id := r.news()
		r.cancel()
		r.session = r.answerTo(id).Get("result.sessionId").Str
	}},
	{name: "restore", unasked: true, flags: []string{"--start-delay=200ms"}, play: func(r *cancelRow) {
		r.talked()
		id := r.prompts("crash")
		r.tolerated[id] = true
		r.answerTo(id)
		r.victim(streams)
		r.cancel()
	}},
	{name: "clients-load", unasked: true, play: func(r *cancelRow) {
		r.talked()
		r.shim()
		r.answerTo(r.hello())
		r.loads()
		r.victim(streams)
		r.cancel()
	}},
	{name: "close", play: cancelDuring("command 60s", func(r *cancelRow) { r.closes("session/close") })},
	{name: "delete", play: cancelDuring(streams, func(r *cancelRow) { r.closes("session/delete") })},
	{name: "close-alone", play: func(r *cancelRow) {
		r.talked()
		r.runs(streams)
		r.begin()
		r.closes("session/close")
	}},
	{name: "logout", play: cancelDuring(streams, func(r *cancelRow) {
		// It goes to the process that may die of the cancel.
		id := r.asksFor("logout", `{}`)
		r.tolerated[id] = true
		r.ends()
		if r.answerTo(id).Get("result").Exists() {
			r.answerTo(r.asksFor("authenticate", `{"methodId":"gemini-api-key"}`))
		}
	})},
	{name: "twice", play: cancelDuring("command 60s", (*cancelRow).cancel)},
	{name: "after-the-end", unasked: true, play: func(r *cancelRow) {
		r.talked()
		r.cancel()
	}},
	{name: "unknown-session", unasked: true, play: func(r *cancelRow) {
		r.talked()
		r.cancels("nobodys")
	}},
	{name: "prompt-behind", play: cancelDuring(streams, (*cancelRow).follows)},
	{name: "prompts-held", play: func(r *cancelRow) {
		r.talked()
		r.runs("command 60s")
		r.victim("before it")
		r.victim("before it")
		r.cancel()
		r.follows()
	}},
	{name: "first-turn", play: func(r *cancelRow) {
		r.opened()
		r.runs("command 60s")
		r.cancel()
	}},
	{name: "first-turn-prompt-behind", play: func(r *cancelRow) {
		r.opened()
		r.runs(streams)
		r.cancel()
		r.follows()
	}},
}

// follows sends what comes next without waiting.
func (r *cancelRow) follows() { r.next = []int{r.prompts("history"), r.prompts("config")} }

func (r *cancelRow) closes(method string) {
	r.answerTo(r.asksFor(method, r.named()))
	r.ends()
	id := r.loads()
	if method == "session/close" {
		r.answerTo(id)
	} else {
		r.tolerated[id] = true
		r.set, r.told = false, false
		if r.answerTo(id); !r.answerTo(id).Get("error").Exists() {
			r.t.Error("what was deleted was opened again")
		}
		r.session = r.answerTo(r.news()).Get("result.sessionId").Str
	}
	r.from = r.count()
}

// TestCancelTable plays every outcome in every situation with real processes.
// What always comes out is the judge's; a row that fails prints what passed.
func TestCancelTable(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of processes")
	}
	type cell struct {
		o      cancelOutcome
		s      cancelSituation
		withID bool
	}
	var cells []cell
	for i, o := range cancelOutcomes {
		for j, s := range cancelSituations {
			if s.unasked && i > 1 {
				continue
			}
			cells = append(cells, cell{o, s, (i+j)%2 == 0})
			if s.patient {
				cells = append(cells, cell{o, s, (i+j)%2 == 1})
			}
		}
	}
	// More than there are processors: most of the time a row waits.
	const atATime = 8
	began := time.Now()
	next := make(chan cell)
	var rows sync.WaitGroup
	for range atATime {
		rows.Go(func() {
			for c := range next {
				name := c.o.name + "/" + c.s.name
				if c.withID {
					name += "-with-an-id"
				}
				t.Run(name, func(t *testing.T) { playCancel(t, c.o, c.s, c.withID) })
			}
		})
	}
	for _, c := range cells {
		next <- c
	}
	close(next)
	rows.Wait()
	t.Logf("%d rows in %v", len(cells), time.Since(began).Round(time.Second/10))
}

func playCancel(t *testing.T, o cancelOutcome, s cancelSituation, withID bool) {
	r := &cancelRow{
		t: t, stage: newStage(t), outcome: o, withID: withID, flags: s.flags, grace: 150 * time.Millisecond,
		ran: map[int]bool{}, began: map[int]time.Time{}, tolerated: map[int]bool{},
	}
	if s.patient {
		r.grace = 0
	}
	defer func() {
		if t.Failed() && r.editor != nil {
			t.Log("\n" + r.transcript())
		}
	}()
	s.play(r)
	if r.next == nil {
		r.ends()
		r.from = max(r.from, r.count())
		r.follows()
	}
	r.ends()
	for _, id := range r.next {
		r.answerTo(id)
	}
	for id := range r.requests {
		r.answerTo(id)
	}
	r.judge(r.next[0], r.next[1])
}

//go:build unix

package main

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// cancel is sent with an id, as pi does it.
func (c *editor) cancel(session string) line {
	c.t.Helper()
	return c.call("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, session))
}

// recovered is the second half of every abort: cancelled, and another turn.
func (c *editor) recovered(session string, prompt int) error {
	r := c.answerTo(prompt)
	switch stop := r.Get("result.stopReason").Str; {
	case stop == "cancelled":
	case stop == "end_turn" && c.answer == nil:
		// The agent took the answer that the shim gave in the user's place
		// for the end of its turn.
	default:
		return fmt.Errorf("the prompt was answered %s", r.Raw)
	}
	from := c.count()
	if err := c.expect(session, "Reply with exactly: PARITY-AFTER-ABORT. No tools.", "PARITY-AFTER-ABORT."); err != nil {
		return err
	}
	if said := spoken(c.since(from, -1)); said != "PARITY-AFTER-ABORT." {
		return fmt.Errorf("after the abort came %q", said)
	}
	return nil
}

func aborted(p *parityRun) error {
	c := p.connect()
	s := c.session()
	c.turn(s, "before it")
	id, from := c.prompt(s, "stream 100000 every 2ms")
	c.must(from, "a first delta", isUpdate("agent_message_chunk"))
	if r := c.cancel(s); !r.Get("result").Exists() {
		return fmt.Errorf("the cancel was answered %s", r.Raw)
	}
	return c.recovered(s, id)
}

// more is how many deltas show that a turn has not been stopped.
const more = 1200

func (p *parityRun) abortByNotice(text string, begun func(line) bool) (c *editor, s string, id, from int) {
	c = p.connect()
	s = c.session()
	c.turn(s, "before it")
	id, from = c.prompt(s, text)
	c.must(from, "its beginning", begun)
	c.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, s))
	return c, s, id, from
}

func abortedByNotice(p *parityRun) error {
	c, s, id, from := p.abortByNotice("stream 100000 every 2ms", isUpdate("agent_message_chunk"))
	n := 0
	at := c.must(from, "an end, or much more", func(l line) bool {
		if isUpdate("agent_message_chunk")(l) {
			n++
		}
		return isAnswer(id)(l) || n > more
	})
	if n > more {
		return fmt.Errorf("the turn goes on, %d deltas after the cancel: %s", n, c.line(at).Raw)
	}
	return c.recovered(s, id)
}

func inProgress(l line) bool { return l.Get("params.update.status").Str == "in_progress" }

func abortedCommand(p *parityRun) error {
	const lasts = 4 * time.Second
	began := time.Now()
	c, s, id, _ := p.abortByNotice("command "+lasts.String(), inProgress)
	r := c.answerTo(id)
	if took := r.at.Sub(began); took >= lasts {
		return fmt.Errorf("the agent waits for the command to end: %v", took)
	}
	return c.recovered(s, id)
}

func abortedWedge(p *parityRun) error {
	c, s, id, from := p.abortByNotice("wedge", func(l line) bool { return strings.HasSuffix(spoken([]line{l}), "is.") })
	return p.settled(c, s, id, from)
}

// settled is recovered where the bare agent does not answer the prompt at all:
// it is given the time of a whole turn of another session.
func (p *parityRun) settled(c *editor, s string, id, from int) error {
	if p.through {
		return c.recovered(s, id)
	}
	c.turn(c.session(), "are you there")
	for _, l := range c.since(from, -1) {
		if isAnswer(id)(l) {
			return c.recovered(s, id)
		}
	}
	return errors.New("the prompt is never answered")
}

func abortedPermission(p *parityRun) error {
	asks := func(l line) bool { return l.Get("method").Str == "session/request_permission" }
	c := p.connect()
	c.silent()
	s := c.session()
	c.turn(s, "before it")
	id, from := c.prompt(s, "ask 60s")
	at := c.must(from, "the request", asks)
	c.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, s))
	if err := p.settled(c, s, id, from); err != nil {
		return err
	}
	// The user finds the dialog and allows what was cancelled long ago, while
	// the next process asks for something else.
	late := c.line(at).Get("id").Raw
	id, from = c.prompt(s, "ask")
	at = c.must(from, "another request", asks)
	c.send(`{"jsonrpc":"2.0","id":` + late + `,` + allowFirst(c.line(at).Result) + `}`)
	if again := c.line(at).Get("id").Raw; again == late {
		return fmt.Errorf("the id %s of a request without an answer was used again", late)
	}
	c.send(`{"jsonrpc":"2.0","id":` + c.line(at).Get("id").Raw + `,"result":{"outcome":{"outcome":"selected","optionId":"deny"}}}`)
	if said, r := c.rest(s, id, from); said != "The command was denied." {
		return fmt.Errorf("what was denied is %q, %s", said, r.Raw)
	}
	return nil
}

func abortedError(p *parityRun) error {
	c, s, id, from := p.abortByNotice("stream 100000 every 2ms", isUpdate("agent_message_chunk"))
	at := c.must(from, "the prompt's answer", isAnswer(id))
	if said := spoken(c.since(from, at)); strings.Contains(said, "by the client.") && p.through {
		return fmt.Errorf("the text of the cancel leaked: %q", said)
	}
	return c.recovered(s, id)
}

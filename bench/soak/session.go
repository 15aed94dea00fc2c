package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"
)

// session is one conversation and the user who has it.
type session struct {
	r    *run
	c    *client
	rand *rand.Rand
	id   string
	away atomic.Bool // the user does not answer
	// listens tells that updates are due: a turn runs, or a load.
	listens atomic.Bool
	last    atomic.Value // of the last turn, what it was and how it ended
	turns   int
	ends    map[string]int
}

// hears is an update. Nothing of a turn may come when it is over for the client.
func (s *session) hears(c *client, kind string, line []byte) {
	if s == nil || s.listens.Load() {
		return
	}
	switch kind {
	case "agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update":
		c.fault("session %s: %s came when no turn ran; the last one was %v: %.300s", s.id, kind, s.last.Load(), line)
	}
}

// texts are what a user says. hang and wedge never end by themselves.
var texts = []string{
	"stream 20 every 5ms", "stream 200", "stream 50 every 20ms", "hello there", "command 300ms", "ask 100ms", "thought", "edit x.txt text",
	"noise", "error it failed", "blank", "resend", "config", "history", "usage 100", "slow-end 200ms", "flood 300", "background 10ms",
	"hang", "wedge", "command 60s", "stream 10000 every 10ms", "ask", "leak", "crash", "crash KILL", "crash ABRT",
}

var endless = map[string]bool{"hang": true, "wedge": true, "command 60s": true, "stream 10000 every 10ms": true, "ask": true}

func (s *session) params(more string) string {
	return fmt.Sprintf(`{"sessionId":%q%s}`, s.id, more)
}

const opening = `"cwd":"/tmp","mcpServers":[]`

// create begins a conversation.
func (s *session) create() bool {
	for !s.r.over() {
		f, ok := s.c.call("session/new", `{`+opening+`}`)
		if !ok {
			return false
		}
		if f.Result != nil && f.Result.SessionID != "" {
			lost := s.id
			s.c.mu.Lock()
			delete(s.c.sessions, s.id)
			s.id = f.Result.SessionID
			s.c.sessions[s.id] = s
			s.c.mu.Unlock()
			if lost == "" {
				return true
			}
			// A conversation that nobody closes stays this shim's, with its lock.
			_, ok = s.c.call("session/close", fmt.Sprintf(`{"sessionId":%q}`, lost))
			return ok
		}
		s.pause(time.Second) // an agent that could not be started
	}
	return false
}

func (s *session) pause(most time.Duration) {
	select {
	case <-time.After(within(s.rand, most) + time.Millisecond):
	case <-s.r.stop:
	}
}

// live is the user, until all is to be quiet.
func (s *session) live() {
	if s.id == "" && !s.create() {
		return
	}
	for !s.r.over() {
		ok := true
		switch k := s.rand.IntN(40); {
		case k < 28:
			ok = s.turn()
		case k < 30:
			ok = s.load([]string{"session/load", "session/resume"}[s.rand.IntN(2)])
		case k < 32:
			_, ok = s.c.call("session/set_mode", s.params(fmt.Sprintf(`,"modeId":%q`, []string{"default", "auto_edit", "yolo"}[s.rand.IntN(3)])))
		case k < 34:
			_, ok = s.c.call("session/set_config_option", s.params(`,"configId":"model","value":"gemini-3.8-flash-low"`))
		case k < 35:
			_, ok = s.c.call("session/cancel", s.params("")) // of no turn
		case k < 36:
			if _, ok = s.c.call("session/close", s.params("")); ok {
				ok = s.load("session/load")
			}
		case k < 37:
			_, ok = s.c.call("session/list", `{}`)
		case k < 38:
			ok = s.leave()
		default:
			s.pause(2 * time.Second)
		}
		if !ok {
			return
		}
		s.pause(300 * time.Millisecond)
	}
}

// leave begins another conversation once this one is deleted.
func (s *session) leave() bool {
	f, ok := s.c.call("session/delete", s.params(""))
	if ok && f.Error != nil && !strings.Contains(f.Error.Message, "not found") {
		s.pause(time.Second)
		return true
	}
	if ok {
		s.c.mu.Lock()
		delete(s.c.sessions, s.id)
		s.id = ""
		s.c.mu.Unlock()
	}
	return ok && s.create()
}

// load opens the conversation again; where it is lost, another one is begun.
func (s *session) load(method string) bool {
	s.last.Store(method)
	_, ch := s.c.ask(s, method, s.params(","+opening))
	f, ok := s.c.await(method+" of "+s.id, ch)
	if ok && f.Error != nil {
		// It is opened again later; one that is lost is given up.
		if strings.Contains(f.Error.Message, "not found") {
			return s.leave()
		}
		s.pause(time.Second)
	}
	return ok
}

// turn is a prompt, and what a user does before it is over.
func (s *session) turn() bool {
	text := texts[s.rand.IntN(len(texts))]
	if s.rand.IntN(100) == 0 {
		text = []string{"big 8M", "big 3M", "flood 10000"}[s.rand.IntN(3)]
	}
	if strings.HasPrefix(text, "crash") && !s.r.mayCrash() {
		text = "hello again"
	}
	attached := ""
	if s.rand.IntN(100) == 0 {
		attached = `,"_meta":{"soak":"` + strings.Repeat("x", 2<<20) + `"}`
	}
	cancelled := endless[text] || s.rand.IntN(4) == 0
	s.away.Store(text == "ask" || cancelled && s.rand.IntN(2) == 0)
	s.last.Store(text)
	id, ch := s.c.ask(s, "session/prompt", s.params(fmt.Sprintf(`,"prompt":[{"type":"text","text":%q}]%s`, text, attached)))
	how := ""
	if cancelled {
		early := time.NewTimer(within(s.rand, 800*time.Millisecond))
		select {
		case <-early.C:
			how = s.cancel(id)
		case f := <-ch:
			early.Stop()
			return s.ended(text, "", f)
		}
	}
	f, ok := s.c.await(fmt.Sprintf("session/prompt %q (%s) of %s", text, how, s.id), ch)
	if !ok {
		return false
	}
	return s.ended(text, how, f)
}

func (s *session) cancel(id string) string {
	switch s.rand.IntN(5) {
	case 0:
		go s.c.call("session/cancel", s.params(""))
		return "cancelled by a request"
	case 1:
		s.c.tell("$/cancel_request", `{"requestId":`+id+`}`)
		return "cancelled by its id"
	case 2:
		s.c.tell("session/cancel", s.params(""))
		s.c.tell("session/cancel", s.params(""))
		return "cancelled twice"
	default:
		s.c.tell("session/cancel", s.params(""))
		return "cancelled"
	}
}

func (s *session) ended(text, how string, f frame) bool {
	end := ""
	if f.Error != nil {
		end, _, _ = strings.Cut(f.Error.Message, "\n")
		end = f.Error.Message[:min(len(end), 60)]
	}
	if f.Result != nil {
		end = f.Result.StopReason
	}
	s.last.Store(fmt.Sprintf("%q, %s: %s", text, how, end))
	s.turns++
	s.ends[end]++
	s.away.Store(false)
	return true
}

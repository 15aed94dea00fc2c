package proxy

import (
	"log/slog"
	"time"
)

// An Interceptor changes, answers or drops frames on their way. The chain is one
// ordered list: a frame from the client meets it in list order, a frame from an
// agent in reverse, so that the first interceptor is the one nearest to the
// client both ways.
//
// Its methods run under the loop's lock, one at a time, and must not block.
// What they want done they say with the Step's verbs, which take effect when
// the method returns; a panic discards the verbs of that call and its changes
// to the frame. With no verb and no splice the frame's bytes go on as they came.
// Neither the Step nor the Message may be kept.
type Interceptor interface {
	// FromClient sees a request or notification before it goes to s.Agent(),
	// and a response before the agent's request that it answers is settled.
	// s.Own() tells frames that the shim itself sends in the client's name.
	FromClient(s *Step, m *Message)
	// FromAgent sees every frame of a live agent process. For a response,
	// s.Request() is the request that it answers; nil if nobody asked.
	FromAgent(s *Step, m *Message)
	// Timer is called when a timer that s.After armed runs out.
	Timer(s *Step, key string)
	// Exit is called when an agent process is gone for good, or when it could
	// not be ended in time (a.Stuck), before the requests that are still open
	// at it are answered with an error.
	Exit(s *Step, a *Agent)
}

// Base is an Interceptor that does nothing, for embedding.
type Base struct{}

// FromClient does nothing.
func (Base) FromClient(*Step, *Message) {}

// FromAgent does nothing.
func (Base) FromAgent(*Step, *Message) {}

// Timer does nothing.
func (Base) Timer(*Step, string) {}

// Exit does nothing.
func (Base) Exit(*Step, *Agent) {}

// Policy is what a profile decides about processes. The zero Policy is a plain
// relay: one process, nothing held, nothing ended.
type Policy struct {
	// Exclusive gives every session a process of its own, so that one can be
	// ended without touching another, and brings a session back when its
	// process is gone. It takes an agent that can load or resume.
	Exclusive bool
	// DropNoise keeps lines that are no protocol from the client.
	DropNoise bool
	// RepeatAuth tells whether the authenticate method with this id may be
	// repeated on a new process without anybody being asked. Nil: never.
	RepeatAuth func(methodID string) bool
	// Close tells that session/close works although it is not advertised.
	Close bool
	// Advise knows a way out of a failure by the text of an error or by a
	// process's last words, for the session with this id, "" if it has none. It
	// is put behind the text that the client gets. Nil knows none.
	Advise func(text, session string) string
}

// Step is one frame, timer or exit on its way through the chain, and the verbs
// with which an interceptor says what shall happen.
type Step struct {
	core    *Core
	at      int // index of the interceptor that is being called
	msg     *Message
	agent   *Agent
	session *Session
	request *Request
	asked   *Asked
	own     bool

	verbs   []func()
	dropped bool
	held    bool // dropped, and to be answered later
	why     string
}

// Session is the session that the frame names, nil if it names none or one that
// is not known.
func (s *Step) Session() *Session { return s.session }

// Agent is the process that the frame came from or would go to, nil if there is
// none yet.
func (s *Step) Agent() *Agent { return s.agent }

// Request is the client's request: the frame itself on its way to the agent, or
// the one that a response from the agent answers.
func (s *Step) Request() *Request { return s.request }

// Asked is the agent's request that a response from the client answers, or that
// an agent's request has become at the client.
func (s *Step) Asked() *Asked { return s.asked }

// Own tells that the shim sends this frame in the client's name.
func (s *Step) Own() bool { return s.own }

// Exclusive tells that the policy of the connection gives every session a
// process of its own.
func (s *Step) Exclusive() bool { return s.core.policy.Exclusive }

// Drop keeps the frame from going on. A request that is dropped must be
// answered with Answer; for one that is answered later, see Hold. A request
// without an answer is a bug, and panics.
func (s *Step) Drop(why string) {
	s.verbs = append(s.verbs, func() { s.dropped, s.why = true, why })
}

// Hold keeps a request from going on and leaves it open: the interceptor will
// Answer it later.
func (s *Step) Hold(why string) {
	s.verbs = append(s.verbs, func() { s.dropped, s.held, s.why = true, true, why })
}

// Answer answers a request of the client, sent or held or on its way, with body:
// the text of a "result" or "error" member. What the agent may still say to it
// is swallowed. A request that is answered already stays as it is.
func (s *Step) Answer(r *Request, body, why string) {
	s.verbs = append(s.verbs, func() { s.core.answer(r, body, why) })
}

// AnswerEarly answers a prompt whose turn runs on in the process. The session
// takes no other prompt before the agent has ended that turn, and what it then
// answers is swallowed; where something waits for it, its process is ended. What
// the turn still says must be dropped by the interceptor.
func (s *Step) AnswerEarly(r *Request, body, why string) {
	s.verbs = append(s.verbs, func() { s.core.answerEarly(r, body, why) })
}

// Settle answers a request of the agent in the client's place. The client's own
// answer, which may still come, is swallowed.
func (s *Step) Settle(a *Asked, body, why string) {
	s.verbs = append(s.verbs, func() { s.core.settle(a, body, why) })
}

// ToAgent sends a frame, which must end in a line end, to the process a.
func (s *Step) ToAgent(a *Agent, frame []byte, why string) {
	s.verbs = append(s.verbs, func() { s.core.shimToAgent(a, frame, why) })
}

// ToClient sends a frame to the client, before the frame of this step.
func (s *Step) ToClient(frame []byte, why string) {
	s.verbs = append(s.verbs, func() { s.core.shimToClient(frame, why) })
}

// Ask sends a request of the shim's own to the client; its answer is swallowed.
// params is the text of the params member.
func (s *Step) Ask(method, params, why string) {
	s.verbs = append(s.verbs, func() { s.core.askClient(method, params, why) })
}

// Resend drops the response of this step and sends the request that it answers
// once more, as frame.
func (s *Step) Resend(frame []byte, why string) {
	s.verbs = append(s.verbs, func() {
		s.dropped, s.why = true, why
		s.core.resend(s.request, frame, why)
	})
}

// Recycle ends the process of a session and gives the session another one.
func (s *Step) Recycle(sess *Session, why string) {
	s.verbs = append(s.verbs, func() { s.core.recycle(sess, why) })
}

// Cancelling marks that the session's turn is being cancelled, which shows in
// its state and keeps the process's output read whatever the client takes.
func (s *Step) Cancelling(sess *Session, on bool) {
	s.verbs = append(s.verbs, func() { sess.cancelling = on })
}

// After calls this interceptor's Timer with key after d, unless it is armed
// anew or stopped with a d of 0 before.
func (s *Step) After(d time.Duration, key string) {
	k := timerKey{kind: timerChain, gen: s.at, name: key}
	s.verbs = append(s.verbs, func() {
		if d <= 0 {
			s.core.fx.disarm(k)
			return
		}
		s.core.fx.arm(k, d)
	})
}

// Sessions calls f for every session that is known.
func (s *Step) Sessions(f func(*Session)) {
	for _, sess := range s.core.sessions {
		f(sess)
	}
}

// Find is the session with the id that the client uses, or nil.
func (s *Step) Find(id string) *Session { return s.core.sessions[id] }

// Event tells the taps that something happened.
func (s *Step) Event(e Event) {
	s.verbs = append(s.verbs, func() { s.core.event(&e) })
}

// Log writes to the log. Nothing secret and no text of a prompt, a tool or an
// output belongs there.
func (s *Step) Log(level slog.Level, msg string, args ...any) {
	s.core.fx.log(level, msg, args...)
}

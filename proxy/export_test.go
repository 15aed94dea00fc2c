package proxy

import (
	"strings"
	"testing"
	"time"
)

// Script is a script for tests that need packages which stand on this one.
type Script struct{ *script }

// Begun is a script past initialize, with one exclusive process.
func Begun(t *testing.T, opt Options) Script { return Script{begun(t, opt)} }

// Opened is a script with session a in process 1.
func Opened(t *testing.T, opt Options) Script { return Script{opened(t, opt)} }

// Relay is a script with session a of a plain relay.
func Relay(t *testing.T, opt Options) Script {
	s := Script{newScript(t, opt)}
	s.core.start()
	s.core.started(1, 100)
	s.client(`{"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	s.agent(1, `{"id":1,"result":{"sessionId":"a"}}`)
	s.out = nil
	return s
}

// Paused has the output of process gen not read, or read again.
func (s Script) Paused(gen int, on bool) { s.core.agentOf(gen).paused = on }

func (s Script) Client(line string)         { s.client(line) }
func (s Script) Agent(gen int, line string) { s.agent(gen, line) }
func (s Script) Expect(want ...string)      { s.t.Helper(); s.expect(want...) }
func (s Script) Contains(want string)       { s.t.Helper(); s.contains(want) }
func (s Script) Forget()                    { s.out = nil }
func (s Script) Started(gen int)            { s.core.started(gen, 100+gen) }
func (s Script) Gone(gen int, e Exit)       { s.core.gone(gen, e) }
func (s Script) Claimed(id string)          { s.core.claimed(id, nil, "") }
func (s Script) Requests() string           { return s.requests() }
func (s Script) Session(id string) *Session { return s.core.sessions[id] }
func (s Script) Own() int                   { return int(s.core.ownSeq) }
func (s Script) Output() []string           { return s.out }

// Fire lets the chain's timer with this key run out.
func (s Script) Fire(key string) {
	s.t.Helper()
	for k := range s.timers {
		if k.kind == timerChain && k.name == key {
			s.fire(k)
			return
		}
	}
	s.t.Fatalf("no timer %q; armed are %v", key, s.timers)
}

// Ladder lets the ladder's steps for process gen run out, up to its end.
func (s Script) Ladder(gen int) {
	s.t.Helper()
	for _, k := range []timerKind{timerTerm, timerKill, timerStuck} {
		s.fire(timerKey{kind: k, gen: gen})
	}
}

// Hopeless lets the time after the ladder of process gen run out.
func (s Script) Hopeless(gen int) { s.t.Helper(); s.fire(timerKey{kind: timerStuck, gen: gen}) }

// Armed is for how long the chain's timer with this key is armed, 0 if not.
func (s Script) Armed(key string) time.Duration {
	for k, d := range s.timers {
		if k.kind == timerChain && k.name == key {
			return d
		}
	}
	return 0
}

// Booted answers the shim's own initialize on process gen.
func (s Script) Booted(gen int) {
	s.t.Helper()
	for _, line := range s.out {
		if rest, ok := strings.CutPrefix(line, "agent"); ok && rest[0] == byte('0'+gen) && strings.Contains(line, `"method":"initialize"`) {
			id := line[strings.Index(line, `"id":`)+5:]
			id = id[:strings.IndexByte(id, ',')]
			s.agent(gen, `{"id":`+id+`,"result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}},"agentInfo":{"name":"antigravity-acp"}}}`)
			return
		}
	}
	s.t.Fatalf("process %d was sent no initialize: %q", gen, s.out)
}

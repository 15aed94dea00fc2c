package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// sent fails unless something that contains all of want was done.
func (s *script) did(want ...string) {
	s.t.Helper()
next:
	for _, o := range s.out {
		for _, w := range want {
			if !strings.Contains(o, w) {
				continue next
			}
		}
		return
	}
	s.t.Fatalf("%q is not among\n%s", want, strings.Join(s.out, "\n"))
}

func (s *script) didNot(words ...string) {
	s.t.Helper()
	for _, o := range s.out {
		all := true
		for _, w := range words {
			all = all && strings.Contains(o, w)
		}
		if all {
			s.t.Fatalf("%q was done", o)
		}
	}
}

func boot(s *script, gen, own int) {
	s.core.started(gen, 100+gen)
	s.agent(gen, strings.ReplaceAll(ownInitReply, "%d", string(rune('0'+own))))
}

const loadX = `{"id":20,"method":"session/load","params":{"sessionId":"x","cwd":"/w"}}`

// TestCancelledWhileHeld: a load or a new session that is cancelled before a
// process could take it leaves nothing behind that waits for its answer.
func TestCancelledWhileHeld(t *testing.T) {
	t.Run("load", func(t *testing.T) {
		s := opened(t, Options{})
		s.client(loadX)
		s.client(prompt(21, "x"))
		s.core.claimed("x", nil, "")
		s.client(`{"method":"$/cancel_request","params":{"requestId":20}}`)
		s.did("client<", `"id":20`, "-32800")
		boot(s, 2, 1)
		s.did("agent", `"id":21`) // whoever gets it says that there is none
		s.out = nil
		s.client(strings.Replace(loadX, "20", "22", 1))
		s.did("claim x")
		s.core.claimed("x", nil, "")
		s.did("agent2<", `"id":22`)
	})
	t.Run("load, before the claim", func(t *testing.T) {
		s := opened(t, Options{})
		s.client(loadX)
		s.client(`{"method":"$/cancel_request","params":{"requestId":20}}`)
		s.core.claimed("x", nil, "")
		s.client(strings.Replace(loadX, "20", "22", 1))
		s.core.claimed("x", nil, "")
		boot(s, 2, 1)
		s.did("agent2<", `"id":22`)
		s.didNot("agent2<", `"id":20`)
	})
	t.Run("new", func(t *testing.T) {
		s := opened(t, Options{MaxAgents: 2})
		s.client(`{"id":20,"method":"session/new","params":{"cwd":"/w"}}`)
		s.client(`{"method":"$/cancel_request","params":{"requestId":20}}`)
		s.client(`{"id":21,"method":"session/new","params":{"cwd":"/w"}}`)
		boot(s, 2, 1)
		s.did("agent2<", `"id":21`)
		s.didNot("spawn 3")
	})
}

// TestEnoughSessions: with every process idle, the next session waits for none
// of them to run a turn first.
func TestEnoughSessions(t *testing.T) {
	s := begun(t, Options{MaxAgents: 1})
	s.client(`{"id":1,"method":"session/new","params":{"cwd":"/w"}}`)
	s.client(`{"id":2,"method":"session/new","params":{"cwd":"/w"}}`)
	s.agent(1, `{"id":1,"result":{"sessionId":"a"}}`)
	s.did("spawn 2")
	s.core.gone(1, Exit{Words: "exited"})
	boot(s, 2, 1)
	s.did("agent2<", `"id":2`)

	s = opened(t, Options{MaxAgents: 1})
	s.client(`{"id":2,"method":"session/set_mode","params":{"sessionId":"a","modeId":"yolo"}}`)
	s.client(loadX)
	s.client(prompt(21, "x"))
	s.agent(1, `{"id":2,"result":{}}`)
	s.did("spawn 2")
	s.core.gone(1, Exit{Words: "exited"})
	s.core.claimed("x", nil, "")
	boot(s, 2, 1)
	s.agent(2, `{"id":20,"result":{}}`)
	s.did("agent2<", `"id":21`)
}

// TestClaimedWhileItsProcessEnds: the process that a session was to be loaded in
// is ended before the session is known to be this shim's.
func TestClaimedWhileItsProcessEnds(t *testing.T) {
	s := opened(t, Options{})
	s.client(loadX)
	s.core.started(2, 102)
	s.fire(timerKey{kind: timerStart, gen: 2})
	s.core.claimed("x", nil, "")
	s.core.gone(2, Exit{Words: "exited"})
	boot(s, 3, 2)
	s.did("agent3<", `"id":20`)
}

// TestNoProcessBecomesReady: a session is not tried in process after process.
func TestNoProcessBecomesReady(t *testing.T) {
	s := opened(t, Options{})
	s.core.gone(1, Exit{Words: "exited"})
	s.client(prompt(2, "a"))
	for gen := 2; gen < 4; gen++ {
		s.core.started(gen, 100)
		s.fire(timerKey{kind: timerStart, gen: gen})
		s.core.gone(gen, Exit{Words: "exited"})
	}
	s.did("client<", `"id":2`, "did not answer initialize")
	s.didNot("spawn 4")
}

// TestEndAnswersWhatIsHeld: what waited when the client's input ended is
// answered, too.
func TestEndAnswersWhatIsHeld(t *testing.T) {
	s := opened(t, Options{})
	s.client(prompt(2, "a"))
	s.client(prompt(3, "a"))
	s.core.clientEOF()
	s.core.gone(1, Exit{Words: "exited"})
	s.did("client<", `"id":2`)
	s.did("client<", `"id":3`)
	s.did("finished")
}

// TestLoadAfterALoadThatFailed: a session that was asked for in vain is opened
// in a process of its own all the same when it is there later.
func TestLoadAfterALoadThatFailed(t *testing.T) {
	s := opened(t, Options{})
	s.client(loadX)
	s.client(prompt(21, "x"))
	s.core.claimed("x", nil, "")
	boot(s, 2, 1)
	s.core.gone(2, Exit{Words: "exited"})
	s.did("agent1<", `"id":21`)
	s.agent(1, `{"id":21,"error":{"code":-32002,"message":"no","data":null}}`)
	s.client(strings.Replace(loadX, "20", "22", 1))
	s.core.claimed("x", nil, "")
	s.didNot("agent1<", `"id":22`)
	boot(s, 3, 2)
	s.did("agent3<", `"id":22`)
	s.agent(3, `{"id":22,"result":{}}`)
	if x := s.core.sessions["x"]; x == nil || x.state != Idle || x.agent.gen != 3 {
		t.Errorf("the session is %+v", x)
	}
}

// TestLoadBehindAClose: a load that is sent before the close is answered opens
// the session again, in a process that is known to hold it.
func TestLoadBehindAClose(t *testing.T) {
	s := opened(t, Options{})
	s.client(`{"id":19,"method":"session/close","params":{"sessionId":"a"}}`)
	s.client(`{"id":20,"method":"session/load","params":{"sessionId":"a","cwd":"/w"}}`)
	s.didNot("agent1<", `"id":20`)
	s.agent(1, `{"id":19,"result":{}}`)
	s.did("agent1<", `"id":20`)
	s.agent(1, `{"id":20,"result":{}}`)
	if a := s.core.sessions["a"]; a == nil || a.state != Idle || a.agent == nil {
		t.Errorf("the session is %+v", a)
	}
}

// TestOneIDInTwoSessions: a client that uses an id twice at a time gets both
// answers, whichever process is first.
func TestOneIDInTwoSessions(t *testing.T) {
	s := opened(t, Options{})
	s.client(`{"id":1,"method":"session/new","params":{"cwd":"/w"}}`)
	boot(s, 2, 1)
	s.agent(2, `{"id":1,"result":{"sessionId":"b"}}`)
	s.client(prompt(5, "a"))
	s.client(prompt(5, "b"))
	s.agent(2, `{"id":5,"result":{"stopReason":"end_turn","of":"b"}}`)
	s.did("client<", `"of":"b"`)
	s.agent(1, `{"id":5,"result":{"stopReason":"end_turn","of":"a"}}`)
	s.did("client<", `"of":"a"`)
	if left := s.requests(); left != "" {
		t.Errorf("open: %s", left)
	}
}

// TestSecondAnswer: a client's second "allow" for one process must not reach
// another that asked under the same id.
func TestSecondAnswer(t *testing.T) {
	s := opened(t, Options{})
	s.client(`{"id":1,"method":"session/new","params":{"cwd":"/w"}}`)
	boot(s, 2, 1)
	s.agent(2, `{"id":1,"result":{"sessionId":"b"}}`)
	s.agent(2, `{"id":0,"method":"session/request_permission","params":{"sessionId":"b"}}`)
	s.agent(1, `{"id":0,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.out = nil
	s.client(`{"id":0,"result":{"outcome":"allow"}}`)
	s.client(`{"id":0,"result":{"outcome":"allow"}}`)
	s.did("agent2<", "allow")
	s.didNot("agent1<", "allow")
}

// TestCancelRequestBeforeInitialize: it cancels what waits with it.
func TestCancelRequestBeforeInitialize(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.client(initRequest)
	s.client(`{"id":1,"method":"session/new","params":{"cwd":"/w"}}`)
	s.client(loadX)
	s.client(`{"method":"$/cancel_request","params":{"requestId":20}}`)
	s.core.started(1, 100)
	s.agent(1, initResult)
	s.did("client<", `"id":20`, "-32800")
	s.didNot("agent", "$/cancel_request")
}

// TestInitializeGoesOn: the end of a process that was sent no initialize does not
// end the wait for the answer of another one.
func TestInitializeGoesOn(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.core.started(1, 100)
	s.core.outputEnded(1)
	s.client(initRequest)
	s.core.gone(1, Exit{Words: "exited"})
	s.core.started(2, 100)
	s.client(`{"id":1,"method":"session/new","params":{"cwd":"/w"}}`)
	s.didNot("agent2<", "session/new")
	s.agent(2, initResult)
	s.did("agent2<", "session/new")
}

// TestSessionOpenedAnew: the late answer to a delete is about the session that
// was, not about the one of the same name that is.
func TestSessionOpenedAnew(t *testing.T) {
	s := begun(t, Options{})
	s.client(loadX)
	s.core.claimed("x", nil, "")
	s.client(`{"id":21,"method":"session/delete","params":{"sessionId":"x"}}`)
	s.agent(1, `{"id":20,"error":{"code":-32002,"message":"no","data":null}}`)
	s.did("agent1<", `"id":21`)
	s.client(strings.Replace(loadX, "20", "22", 1))
	s.core.claimed("x", nil, "")
	s.agent(1, `{"id":21,"result":{}}`)
	s.did("agent1<", `"id":22`)
	s.agent(1, `{"id":22,"result":{}}`)
	if x := s.core.sessions["x"]; x == nil || x.state != Idle {
		t.Errorf("the session is %+v", x)
	}
}

// TestMadeAnewTwice: a session whose first turn is lost again and again goes on.
func TestMadeAnewTwice(t *testing.T) {
	s := opened(t, Options{})
	own, gen := 0, 1
	refuse := func(method string) {
		t.Helper()
		own++
		id := fmt.Sprintf(`"acp-shim/n/%d"`, own)
		s.did(fmt.Sprintf("agent%d<", gen), id, method)
		s.agent(gen, `{"id":`+id+`,"error":{"code":-32603,"message":"no","data":null}}`)
	}
	for round := 1; round < 3; round++ {
		s.core.gone(gen, Exit{Words: "exited"})
		s.out = nil
		s.client(prompt(10*round, "a"))
		gen++
		own++
		s.core.started(gen, 100+gen)
		s.agent(gen, fmt.Sprintf(ownInitReply, own))
		refuse("session/load")
		refuse("session/resume")
		own++
		s.did(fmt.Sprintf(`agent%d< {"jsonrpc":"2.0","id":"acp-shim/n/%d","method":"session/new"`, gen, own))
		s.agent(gen, fmt.Sprintf(`{"id":"acp-shim/n/%d","result":{"sessionId":"new%d"}}`, own, round))
		s.did(fmt.Sprintf("agent%d<", gen), fmt.Sprintf(`"sessionId":"new%d","prompt"`, round))
	}
	if len(s.core.alias) != 1 {
		t.Errorf("%d aliases", len(s.core.alias))
	}
}

// TestHistoryIsNotGivenUp: a session that the client has loaded may have turns of
// earlier runs. Where it cannot be opened for once, an empty one must not take
// its place.
func TestHistoryIsNotGivenUp(t *testing.T) {
	s := begun(t, Options{})
	s.client(loadX)
	s.core.claimed("x", nil, "")
	s.agent(1, `{"id":20,"result":{}}`)
	s.core.gone(1, Exit{Words: "exited"})
	s.client(prompt(21, "x"))
	boot(s, 2, 1)
	s.agent(2, `{"id":"acp-shim/n/2","error":{"code":-32603,"message":"no","data":null}}`)
	s.agent(2, `{"id":"acp-shim/n/3","error":{"code":-32603,"message":"no","data":null}}`)
	s.didNot("session/new")
	s.did("client<", `"id":21`, "could not be opened again")
}

// TestAgentThatTakesNothing: what waits for a process has an end. Beyond it requests
// are refused and a turn that was about to begin has not begun; a cancel is carried
// out all the same.
func TestAgentThatTakesNothing(t *testing.T) {
	s := opened(t, Options{})
	s.client(`{"id":2,"method":"session/prompt","params":{"sessionId":"a"}}`)
	s.queued = heldLimit + 1
	s.out = nil
	s.client(`{"id":3,"method":"_x","params":{}}`)
	s.did("client< ", `"id":3`, heldText)
	s.client(`{"method":"_x","params":{}}`)
	s.didNot("agent1< ")
	s.client(`{"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.did("agent1< ", "session/cancel")
	s.agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.client(`{"id":4,"method":"session/prompt","params":{"sessionId":"a"}}`)
	s.did("client< ", `"id":4`, heldText)
	s.out = nil
	s.client(`[{"id":41,"method":"_x"},{"method":"_y"},{"id":42,"method":"_x"}]`)
	s.did("client< ", `"id":41`, heldText)
	s.did("client< ", `"id":42`, heldText)
	s.didNot("agent1< ")
	if a := s.core.agentOf(1); a.open != 0 || s.core.requests.n != 0 {
		t.Errorf("%d requests are open, %d on the books", a.open, s.core.requests.n)
	}
	s.queued, s.out = 0, nil
	s.client(`{"id":5,"method":"session/prompt","params":{"sessionId":"a"}}`)
	s.did("agent1< ", `"id":5`)
}

// TestCrowdIsToldOnce: what waits for a process tries again whenever a turn ends or a
// setting is answered, and that it waits stands in the log once.
func TestCrowdIsToldOnce(t *testing.T) {
	s := opened(t, Options{MaxAgents: 1})
	told := func() (n int) {
		for _, l := range s.logs {
			if strings.Contains(l, "all agent processes run turns") {
				n++
			}
		}
		return n
	}
	s.client(prompt(2, "a"))
	for id := 3; id < 6; id++ {
		s.client(fmt.Sprintf(`{"id":%d,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`, id))
		s.core.settled()
	}
	if told() != 1 {
		t.Errorf("it was told %d times", told())
	}
	for id := 3; id < 6; id++ {
		s.client(fmt.Sprintf(`{"method":"$/cancel_request","params":{"requestId":%d}}`, id))
	}
	s.core.settled() // nothing waits any more
	s.client(`{"id":7,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	if told() != 2 {
		t.Errorf("of another time it was told %d times", told()-1)
	}
}

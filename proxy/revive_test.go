package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// boot starts process gen and answers the shim's initialize.
func (s *script) boot(gen int) {
	s.core.started(gen, 100+gen)
	s.agent(gen, fmt.Sprintf(ownInitReply, s.core.ownSeq))
}

// TestCrashLoopOfASession has a conversation that kills every process it is
// loaded in: the others are not refused for it.
func TestCrashLoopOfASession(t *testing.T) {
	s := opened(t, Options{})
	s.core.gone(1, Exit{Words: "exited with code 1"})
	s.client(prompt(10, "a"))
	for gen := 2; gen <= crashLimit; gen++ { // the second try is the shim's
		s.boot(gen)
		s.core.gone(gen, Exit{Words: fmt.Sprintf("exited with code %d", gen)})
	}
	if st := s.core.sessions["a"].State(); st != Failed {
		t.Fatalf("it is %v", st)
	}
	s.core.lastExit = "acp-shim: another one's"
	s.out = nil
	s.client(prompt(20, "a"))
	if len(s.out) != 1 || !strings.Contains(s.out[0], "ended 3 times within 30 s") || !strings.Contains(s.out[0], "exited with code 3") {
		t.Fatalf("got %q", s.out)
	}
	s.out = nil
	s.client(`{"id":21,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	s.expect("spawn 4")
	s.fire(timerKey{kind: timerCrash, gen: 1, name: "a"})
	s.boot(4)
	s.out = nil
	s.client(prompt(22, "a"))
	s.expect("spawn 5")
}

// TestReviveAfterAKill has the load go out as soon as the old process is dead,
// and the next prompt with no more delay than the new one needs.
func TestReviveAfterAKill(t *testing.T) {
	s := opened(t, Options{})
	s.client(prompt(2, "a"))
	s.core.recycle(s.core.sessions["a"], "test")
	s.boot(2)
	s.out = nil
	s.core.gone(1, Exit{Words: "was killed"})
	if len(s.out) != 2 || !strings.Contains(s.out[0], `"id":2,"error"`) || !strings.HasPrefix(s.out[1], "agent2< ") || !strings.Contains(s.out[1], mLoad) {
		t.Fatalf("got %q", s.out)
	}
	s.agent(2, `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"user_message_chunk"}}}`)
	s.agent(2, fmt.Sprintf(`{"id":"acp-shim/n/%d","result":{}}`, s.core.ownSeq))
	s.out = nil
	s.client(prompt(3, "a"))
	s.expect("agent2< " + prompt(3, "a"))
}

// TestNoReviveForAClientThatLoads: pi opens a session before each of its turns.
func TestNoReviveForAClientThatLoads(t *testing.T) {
	s := opened(t, Options{})
	load := `{"id":5,"method":"session/load","params":{"sessionId":"a","cwd":"/w","mcpServers":[]}}`
	s.client(load)
	s.agent(1, `{"id":5,"result":{}}`)
	s.client(prompt(6, "a"))
	s.core.recycle(s.core.sessions["a"], "test")
	s.boot(2)
	s.core.gone(1, Exit{Words: "was killed"})
	if st := s.core.sessions["a"].State(); st != Cold {
		t.Fatalf("it is %v", st)
	}
	s.out = nil
	s.client(load)
	s.expect("agent2< " + load)
}

// TestCrashIsNotRevived: what crashed once may crash again, and nobody waits.
func TestCrashIsNotRevived(t *testing.T) {
	s := opened(t, Options{})
	s.core.gone(1, Exit{Words: "exited with code 2"})
	s.expect()
}

func TestAdvice(t *testing.T) {
	policy := func([]byte) Policy {
		return Policy{Exclusive: true, Advise: func(text, session string) string {
			if !strings.Contains(text, "doneCh") {
				return ""
			}
			return "mend " + session
		}}
	}
	s := opened(t, Options{Policy: policy})
	s.client(prompt(1, "a"))
	s.agent(1, `{"id":1,"result":{"stopReason":"end_turn"}}`)
	s.client(prompt(2, "a"))
	s.core.gone(1, Exit{Words: "exited with code 2", Stderr: "panic: doneCh"})
	if out := strings.Join(s.out, "\n"); !strings.Contains(out, `panic: doneCh; mend a"`) {
		t.Errorf("a crash: %s", out)
	}
	s.client(prompt(3, "a"))
	s.boot(2)
	s.out = nil
	for range 2 { // it is resumed where it cannot be loaded
		s.agent(2, fmt.Sprintf(`{"id":"acp-shim/n/%d","error":{"code":-32603,"message":"internal","data":"no doneCh"}}`, s.core.ownSeq))
	}
	if out := strings.Join(s.out, "\n"); !strings.Contains(out, `"id":3,"error"`) || !strings.Contains(out, `: internal; mend a"`) {
		t.Errorf("a refused load: %s", out)
	}
}

// TestUseIsNoted: what is listed of sessions goes by it.
func TestUseIsNoted(t *testing.T) {
	s := opened(t, Options{})
	noted := func(id, cwd string) int {
		n := len(s.kept[id])
		if n > 0 && s.kept[id][n-1].Cwd != cwd {
			t.Errorf("the record is %+v", s.kept[id][n-1])
		}
		return n
	}
	if noted("a", "") != 0 {
		t.Error("a session that has nothing to come back to is noted")
	}
	for n := 1; n <= 2; n++ {
		s.client(prompt(10+n, "a"))
		s.agent(1, fmt.Sprintf(`{"id":%d,"result":{"stopReason":"end_turn"}}`, 10+n))
		if noted("a", "/w") != n {
			t.Errorf("after turn %d it is noted %d times", n, noted("a", "/w"))
		}
	}
	s.client(`{"id":20,"method":"session/load","params":{"sessionId":"a","cwd":"/v","mcpServers":[]}}`)
	s.agent(1, `{"id":20,"result":{}}`)
	if noted("a", "/v") != 3 {
		t.Error("its load is not noted")
	}
}

// TestDeleteForgets, also what this run has never opened.
func TestDeleteForgets(t *testing.T) {
	s := opened(t, Options{})
	for n, id := range []string{"a", "other"} {
		line := fmt.Sprintf(`{"id":%d,"method":"session/delete","params":{"sessionId":%q}}`, 10+n, id)
		s.client(line)
		s.core.claimed(id, nil, "")
		s.agent(1, fmt.Sprintf(`{"id":%d,"result":{}}`, 10+n))
		s.contains("forget " + id)
	}
	s.client(`{"id":20,"method":"session/delete","params":{"sessionId":"kept"}}`)
	s.core.claimed("kept", nil, "")
	s.out = nil
	s.agent(1, `{"id":20,"error":{"code":-32603,"message":"no"}}`)
	s.expect(`client< {"id":20,"error":{"code":-32603,"message":"no"}}`, "release kept")
}

// TestRelayIsNeverIdle: the process of a relay has the conversation, and nothing
// brings that back.
func TestRelayIsNeverIdle(t *testing.T) {
	s := Relay(t, Options{IdleTimeout: 1})
	s.client(prompt(2, "a"))
	s.agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	for k := range s.timers {
		t.Errorf("armed: %v", k)
	}
}

// TestCrashLoopOfALoad has a client that tries again and again to load what kills
// its process each time.
func TestCrashLoopOfALoad(t *testing.T) {
	s := begun(t, Options{})
	for n := 0; ; n++ {
		s.out = nil
		s.client(fmt.Sprintf(`{"id":%d,"method":"session/load","params":{"sessionId":"x","cwd":"/w"}}`, 10+n))
		if strings.Contains(strings.Join(s.out, " "), "ended 3 times within 30 s") {
			if n != crashLimit {
				t.Errorf("it was loaded %d times", n)
			}
			return
		}
		if n > crashLimit {
			t.Fatalf("it is loaded again and again: %q", s.out)
		}
		gen := s.core.gen
		if gen > 1 {
			s.boot(gen)
		}
		s.core.claimed("x", nil, "")
		s.core.gone(gen, Exit{Words: "exited with code 2"})
	}
}

// TestAliasIsOwned: another shim may know a conversation that was made anew by
// the agent's name only.
func TestAliasIsOwned(t *testing.T) {
	s := begun(t, Options{})
	load := `{"id":2,"method":"session/load","params":{"sessionId":"a","cwd":"/w"}}`
	s.client(load)
	s.out = nil
	s.core.claimed("a", &Record{ID: "a", Real: "b"}, "")
	s.expect("claim b")
	s.core.claimed("b", nil, "session b is in use")
	s.expect(`client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"acp-shim: session b is in use","data":null}}`, "release a", "release b")

	s.client(load)
	s.core.claimed("a", &Record{ID: "a", Real: "b"}, "")
	s.out = nil
	s.core.claimed("b", nil, "")
	s.expect(strings.Replace("agent1< "+load, `"a"`, `"b"`, 1))
	s.agent(1, `{"id":2,"result":{}}`)
	s.out = nil
	s.client(`{"id":3,"method":"session/load","params":{"sessionId":"b","cwd":"/w"}}`)
	if len(s.out) != 1 || !strings.Contains(s.out[0], "open here as session a") {
		t.Errorf("under the agent's name: %q", s.out)
	}
}

// TestLoginChangesDuringARestore: the process that it is loaded in was started
// before that.
func TestLoginChangesDuringARestore(t *testing.T) {
	s := opened(t, Options{})
	s.core.gone(1, Exit{Words: "exited with code 1"})
	s.client(prompt(2, "a"))
	s.boot(2)
	s.core.renew("the login has changed", nil)
	s.out = nil
	s.agent(2, fmt.Sprintf(`{"id":"acp-shim/n/%d","result":{}}`, s.core.ownSeq))
	s.expect("discard 2")
	s.core.gone(2, Exit{Words: "exited with code 0"})
	s.contains("spawn 3")
}

// TestToolsDieWithTheirProcess: those that are open would keep it from being idle.
func TestToolsDieWithTheirProcess(t *testing.T) {
	s := opened(t, Options{})
	s.client(prompt(2, "a"))
	s.agent(1, `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"tool_call","toolCallId":"t"}}}`)
	s.core.gone(1, Exit{Words: "exited with code 1"})
	if tools := s.core.sessions["a"].Tools(); len(tools) != 0 {
		t.Errorf("still open: %q", tools)
	}
}

// TestReviveIsNoHurry: the process that is free is for what somebody waits for.
func TestReviveIsNoHurry(t *testing.T) {
	s := opened(t, Options{MaxAgents: 1})
	s.client(prompt(2, "a"))
	s.client(`{"id":3,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	s.core.recycle(s.core.sessions["a"], "test")
	s.core.gone(1, Exit{Words: "was killed"})
	s.out = nil
	s.boot(2)
	if out := strings.Join(s.out, "\n"); strings.Contains(out, mLoad) || !strings.Contains(out, "agent2< "+`{"id":3,"method":"session/new"`) {
		t.Errorf("got %s", out)
	}
}

// TestHangOutsideOfATurn: nothing but its silence tells of a process that hangs
// while it runs no turn.
func TestHangOutsideOfATurn(t *testing.T) {
	for _, row := range []struct{ method, want string }{
		{mClose, `"result":{}`},
		{mDelete, `it did not answer within 30 s`},
		{mSetMode, `it did not answer within 30 s`},
	} {
		s := opened(t, Options{})
		s.client(fmt.Sprintf(`{"id":5,"method":%q,"params":{"sessionId":"a","modeId":"yolo"}}`, row.method))
		s.client(prompt(6, "a"))
		s.fire(timerKey{kind: timerAnswer, gen: 1})
		s.contains("discard 1")
		s.out = nil
		s.core.gone(1, Exit{Words: "was killed"})
		if out := strings.Join(s.out, "\n"); !strings.Contains(out, `"id":5,`+row.want) && !strings.Contains(out, row.want) {
			t.Errorf("%s: %s", row.method, out)
		}
		if s.requests() == "" {
			continue
		}
		// What waited goes on: with the next process, or as the agent says.
		gen := s.core.gen
		s.boot(gen)
		s.agent(gen, fmt.Sprintf(`{"id":"acp-shim/n/%d","result":{}}`, s.core.ownSeq))
		s.contains(fmt.Sprintf("agent%d< ", gen) + prompt(6, "a"))
	}
	s := opened(t, Options{})
	for id := range 2 {
		s.client(fmt.Sprintf(`{"id":%d,"method":"session/set_mode","params":{"sessionId":"a","modeId":"yolo"}}`, 5+id))
	}
	s.agent(1, `{"id":5,"result":{}}`)
	if s.timers[timerKey{kind: timerAnswer, gen: 1}] == 0 {
		t.Error("the second one has no limit")
	}
	s.agent(1, `{"id":6,"result":{}}`)
	if s.timers[timerKey{kind: timerAnswer, gen: 1}] != 0 {
		t.Error("nothing is open, and its limit goes on")
	}
}

// TestDeleteOfAnothersSession: what another shim has open is not deleted under it,
// and what an earlier run has made anew is deleted under the agent's name.
func TestDeleteOfAnothersSession(t *testing.T) {
	s := opened(t, Options{})
	remove := `{"id":5,"method":"session/delete","params":{"sessionId":"x"}}`
	s.client(remove)
	s.expect("claim x")
	s.core.claimed("x", nil, "session x is in use")
	s.expect(`client< {"jsonrpc":"2.0","id":5,"error":{"code":-32603,"message":"acp-shim: session x is in use","data":null}}`, "release x")

	s.client(remove)
	s.core.claimed("x", &Record{ID: "x", Real: "y"}, "")
	s.out = nil
	s.core.claimed("y", nil, "")
	s.expect("agent1< " + strings.Replace(remove, `"x"`, `"y"`, 1))
	s.agent(1, `{"id":5,"result":{}}`)
	s.expect(`client< {"id":5,"result":{}}`, "forget x", "release x", "release y")

	s.client(remove)
	s.core.claimed("x", nil, "")
	s.agent(1, `{"id":5,"error":{"code":-32002,"message":"no"}}`)
	if s.core.sessions["x"] != nil {
		t.Error("a session that never was is kept")
	}
}

// TestListHasTheClientsNames, of this run and of earlier ones.
func TestListHasTheClientsNames(t *testing.T) {
	s := opened(t, Options{})
	s.core.recalled(map[string]string{"y": "x"})
	s.client(`{"id":5,"method":"session/list","params":{}}`)
	s.out = nil
	s.agent(1, `{"id":5,"result":{"sessions":[{"sessionId":"y"},{"sessionId":"z"}]}}`)
	s.expect(`client< {"id":5,"result":{"sessions":[{"sessionId":"x"},{"sessionId":"z"}]}}`)
}

// TestFirstTurnThatFailed: what a turn that was cancelled has left at the agent,
// or one that has failed, may not be there to load.
func TestFirstTurnThatFailed(t *testing.T) {
	for _, answer := range []string{`"error":{"code":-32603,"message":"no"}`, `"result":{"stopReason":"cancelled"}`, `"result":{"stopReason":"end_turn"}`} {
		s := opened(t, Options{})
		s.client(prompt(2, "a"))
		s.agent(1, `{"id":2,`+answer+`}`)
		s.core.gone(1, Exit{Words: "exited with code 0"})
		s.client(prompt(3, "a"))
		s.boot(2)
		for range 2 { // it is neither loaded nor resumed
			s.out = nil
			s.agent(2, fmt.Sprintf(`{"id":"acp-shim/n/%d","error":{"code":-32002,"message":"Session not found"}}`, s.core.ownSeq))
		}
		anew := strings.Contains(strings.Join(s.out, " "), mNew)
		if finished := strings.Contains(answer, "end_turn"); anew == finished {
			t.Errorf("after %s it is made anew: %v", answer, anew)
		}
	}
}

// TestDeathOfACancel: an agent that dies of each cancel is no crash loop.
func TestDeathOfACancel(t *testing.T) {
	s := opened(t, Options{})
	s.core.sessions["a"].cancelling = true
	s.core.gone(1, Exit{Words: "exited with code 1"})
	if len(s.core.crashed)+s.core.crashes > 0 {
		t.Error("it counts as a crash")
	}
}

package proxy_test

import (
	"strings"
	"testing"
	"time"

	"acp-shim/cancelshim"
	"acp-shim/proxy"
)

func stalling(t *testing.T, action cancelshim.StallAction) proxy.Script {
	return opened(t, cancelshim.Options{Stall: 10 * time.Second, StallAction: action})
}

// silence lets n tenths of the allowed silence pass.
func silence(s proxy.Script, n int) {
	for range n {
		s.Fire("stall a")
	}
}

const stallMeta = `"_meta":{"acp-shim":{"reason":"stalled","silentMs":10000,"processEnded":`

func TestStallIsSettled(t *testing.T) {
	s := stalling(t, cancelshim.StallSettle)
	s.Client(prompt(2))
	s.Agent(1, toolCall)
	s.Forget()
	silence(s, 10)
	s.Expect()
	silence(s, 1)
	s.Expect(`agent1< {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Agent(1, chunk) // it may have something to say for another second
	s.Expect("client< " + chunk)
	s.Fire("grace a")
	s.Expect(toolFailed, `client< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn",`+stallMeta+`false}}}}`)

	// Its process is left alone as long as nothing waits for it.
	s.Agent(1, chunk)
	s.Agent(1, `{"id":2,"method":"fs/read_text_file","params":{"sessionId":"a"}}`)
	s.Expect(`agent1< {"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"the turn was cancelled","data":null}}`)
	s.Agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.Expect()
	if st := s.Session("a").State(); st != proxy.Idle || s.Requests() != "" {
		t.Errorf("after the turn's end it is %v, with open requests %q", st, s.Requests())
	}
	s.Client(prompt(3))
	s.Agent(1, chunk)
	s.Expect("agent1< "+prompt(3), "client< "+chunk)
}

func TestStallThatIsNeededAgain(t *testing.T) {
	s := stalling(t, cancelshim.StallSettle)
	s.Client(prompt(2))
	silence(s, 11)
	s.Fire("grace a")
	s.Forget()
	s.Client(prompt(2)) // the same id: it is free again for the client
	s.Expect("discard 1", "spawn 2")
	s.Started(2)
	s.Booted(2)
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "was killed"})
	if out := s.Output(); len(out) != 1 || !strings.Contains(out[0], `"session/load"`) {
		t.Errorf("the session is not loaded, or something is answered twice: %q", out)
	}
	if s.Requests() != "2" {
		t.Errorf("open requests are %q", s.Requests())
	}
}

func TestStallIsRecycled(t *testing.T) {
	s := stalling(t, cancelshim.StallRecycle)
	s.Client(prompt(2))
	silence(s, 11)
	s.Contains("discard 1")
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "was killed"})
	s.Contains(`client< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled",` + stallMeta + `true}}}}`)
}

func TestStallEndsByItself(t *testing.T) {
	for _, row := range []struct{ answer, want string }{
		{`{"id":2,"result":{"stopReason":"end_turn"}}`, `{"id":2,"result":{"stopReason":"end_turn",` + stallMeta + `false}}}}`},
		{`{"id":2,"result":{"stopReason":"end_turn","_meta":{"x":1}}}`, `{"id":2,"result":{"stopReason":"end_turn","_meta":{"x":1,"acp-shim":{"reason":"stalled","silentMs":10000,"processEnded":false}}}}`},
		{`{"id":2,"result":{"stopReason":"cancelled"}}`, `{"id":2,"result":{"stopReason":"end_turn",` + stallMeta + `false}}}}`},
		{`{"id":2,"error":{"code":-32000,"message":"context canceled"}}`, `{"id":2,"result":{"stopReason":"end_turn",` + stallMeta + `false}}}}`},
	} {
		s := stalling(t, cancelshim.StallSettle)
		s.Client(prompt(2))
		silence(s, 11)
		s.Forget()
		s.Agent(1, row.answer)
		s.Expect("client< " + row.want)
	}
}

func TestNoStall(t *testing.T) {
	s := stalling(t, cancelshim.StallRecycle)
	s.Client(prompt(2))
	silence(s, 10)
	s.Agent(1, chunk)
	silence(s, 10)
	s.Agent(1, `{"id":7,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	silence(s, 30) // it waits for the client
	s.Client(`{"id":7,"result":{"outcome":{"outcome":"cancelled"}}}`)
	s.Forget()
	silence(s, 10)
	s.Expect()
	s.Agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	silence(s, 1)
	if s.Armed("stall a") != 0 {
		t.Error("a session with no turn is watched")
	}
	// A turn is watched that begins after it.
	s.Client(prompt(3))
	s.Forget()
	silence(s, 11)
	s.Contains("discard 1")
}

// TestStallAndAClientThatDoesNotRead: an agent that is not read for that cannot be
// heard, and is not silent.
func TestStallAndAClientThatDoesNotRead(t *testing.T) {
	s := stalling(t, cancelshim.StallRecycle)
	s.Client(prompt(2))
	s.Forget()
	s.Paused(1, true)
	silence(s, 30)
	s.Expect()
	s.Paused(1, false)
	silence(s, 11)
	s.Contains("discard 1")
}

func TestStallIsOnlyLogged(t *testing.T) {
	s := stalling(t, cancelshim.StallLog)
	s.Client(prompt(2))
	s.Forget()
	silence(s, 40)
	s.Expect()
}

// TestCancelOfAStall has the client cancel what is being settled: then it was
// cancelled, by the rules of a cancel.
func TestCancelOfAStall(t *testing.T) {
	s := stalling(t, cancelshim.StallSettle)
	s.Client(prompt(2))
	silence(s, 11)
	s.Forget()
	s.Client(cancelNotice)
	s.Fire("grace a")
	s.Contains("discard 1")
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "was killed"})
	s.Contains(cancelled(2))
}

// TestStallOfARelay has an agent whose process several sessions share: it is
// ended for none of them, and the next prompt is not held.
func TestStallOfARelay(t *testing.T) {
	s := relayed(t, cancelshim.Options{Stall: 10 * time.Second, StallAction: cancelshim.StallRecycle})
	s.Client(prompt(2))
	s.Forget()
	silence(s, 11)
	s.Fire("grace a")
	s.Expect(`agent1< {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`,
		`client< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn",`+stallMeta+`false}}}}`)
	s.Agent(1, chunk)
	s.Expect()
	s.Client(prompt(3))
	s.Agent(1, chunk)
	s.Expect("agent1< "+prompt(3), "client< "+chunk)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Agent(1, `{"id":3,"result":{"stopReason":"end_turn"}}`)
	s.Expect(`client< {"id":3,"result":{"stopReason":"end_turn"}}`)
}

// relayed is a script with session a of an agent whose process is shared.
func relayed(t *testing.T, opt cancelshim.Options) proxy.Script {
	s := proxy.Begun(t, proxy.Options{Chain: []proxy.Interceptor{cancelshim.New(opt)}, Policy: func([]byte) proxy.Policy { return proxy.Policy{} }})
	s.Client(`{"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	s.Agent(1, `{"id":1,"result":{"sessionId":"a"}}`)
	s.Forget()
	return s
}

const (
	permission      = `{"id":7,"method":"session/request_permission","params":{"sessionId":"a"}}`
	permissionEnded = `agent1< {"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`
)

// TestPermissionIsNeverAnswered is a client that forgets what it was asked when
// it cancels: gemini waits for that answer without end.
func TestPermissionIsNeverAnswered(t *testing.T) {
	s := relayed(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Agent(1, permission)
	s.Client(cancelNotice)
	s.Expect("agent1< "+prompt(2), "client< "+permission, "agent1< "+cancelNotice)
	s.Fire("asked a")
	s.Expect(permissionEnded)
	s.Client(`{"id":7,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	s.Expect()
	s.Agent(1, `{"id":8,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.Forget()
	s.Fire("asked a") // one that comes later gets its time as well
	s.Expect(strings.Replace(permissionEnded, `"id":7`, `"id":8`, 1))
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"cancelled"}}`)
}

// TestPermissionIsAnswered leaves a client that does as ACP has it alone, and
// the next turn as well.
func TestPermissionIsAnswered(t *testing.T) {
	s := relayed(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Agent(1, permission)
	s.Client(cancelNotice)
	s.Client(`{"id":7,"result":{"outcome":{"outcome":"cancelled"}}}`)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Client(prompt(3))
	s.Agent(1, permission)
	if s.Armed("asked a") != 0 {
		t.Error("the next turn's permission has a limit")
	}
}

// TestPermissionAndTheNextPrompt has the client go on without an answer: the
// request of the turn before is settled all the same, and that of the new one is
// the client's. An agent that keeps asking does not put that off.
func TestPermissionAndTheNextPrompt(t *testing.T) {
	s := relayed(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Agent(1, permission)
	s.Client(cancelNotice)
	s.Agent(1, strings.Replace(permission, `"id":7`, `"id":8`, 1))
	s.Client(cancelNotice)
	s.Client(prompt(3))
	s.Agent(1, strings.Replace(permission, `"id":7`, `"id":9`, 1))
	s.Forget()
	s.Fire("asked a")
	s.Expect(permissionEnded)
	s.Fire("asked a")
	s.Expect(strings.Replace(permissionEnded, `"id":7`, `"id":8`, 1))
	if s.Armed("asked a") != 0 {
		t.Error("the next turn's permission has a limit")
	}
}

// TestAnswerToASettledID: a plain relay repeats the ids that it is given, but not
// one that the client may still answer for the last time it was used.
func TestAnswerToASettledID(t *testing.T) {
	s := proxy.Relay(t, proxy.Options{Chain: []proxy.Interceptor{cancelshim.New(cancelshim.Options{})}})
	s.Client(prompt(2))
	s.Agent(1, permission)
	s.Client(cancelNotice)
	s.Fire("asked a")
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Client(prompt(3))
	s.Forget()
	s.Agent(1, permission)
	as := strings.Replace(permission, `"id":7`, `"id":1073741824`, 1)
	s.Expect("client< " + as)
	s.Client(`{"id":7,"result":{"outcome":{"outcome":"cancelled"}}}`) // the late one
	s.Expect()
	s.Client(`{"id":1073741824,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	s.Expect(`agent1< {"id":7,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
}

// TestStallIsTakenOver has the client cancel what is being settled, in each way
// that it can: the agent's answer is the answer to that.
func TestStallIsTakenOver(t *testing.T) {
	answer := `{"id":2,"result":{"stopReason":"cancelled"}}`
	for _, cancel := range []string{cancelNotice, `{"method":"$/cancel_request","params":{"requestId":2}}`} {
		for name, s := range map[string]proxy.Script{
			"exclusive": stalling(t, cancelshim.StallSettle),
			"relay":     relayed(t, cancelshim.Options{Stall: 10 * time.Second, StallAction: cancelshim.StallSettle}),
		} {
			s.Client(prompt(2))
			silence(s, 11)
			s.Client(cancel)
			s.Forget()
			s.Agent(1, answer)
			if out := s.Output(); len(out) != 1 || out[0] != "client< "+answer {
				t.Errorf("%s, %s: %q", name, cancel, out)
			}
		}
	}
}

func TestStallAndTheAgentDiesOfIt(t *testing.T) {
	s := stalling(t, cancelshim.StallSettle)
	s.Client(prompt(2))
	silence(s, 11)
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "exited with code 1"})
	s.Contains(`client< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled",` + stallMeta + `true}}}}`)
}

// TestSettingAfterAStall: whatever else is asked of a session ends the turn that
// is over for the client.
func TestSettingAfterAStall(t *testing.T) {
	s := stalling(t, cancelshim.StallSettle)
	s.Client(prompt(2))
	silence(s, 11)
	s.Fire("grace a")
	s.Forget()
	s.Client(`{"id":3,"method":"session/set_mode","params":{"sessionId":"a","modeId":"yolo"}}`)
	s.Expect("discard 1", "spawn 2")
	s.Client(`{"id":4,"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Expect(`client< {"jsonrpc":"2.0","id":4,"result":{}}`)
}

// TestStallOfALongAnswer: an answer that is longer than a frame may be ends a turn
// as well, and what follows is heard.
func TestStallOfALongAnswer(t *testing.T) {
	s := stalling(t, cancelshim.StallSettle)
	s.Client(prompt(2))
	silence(s, 11)
	s.Fire("grace a")
	s.TooLong(1, `{"id":2,"result":{"x":"`)
	s.Forget()
	s.Agent(1, chunk)
	s.Expect("client< " + chunk)
	if st := s.Session("a").State(); st != proxy.Idle || s.Requests() != "" {
		t.Errorf("it is %v, with %q open", st, s.Requests())
	}
}

// TestStallAfterACrash, in a relay: the next process is watched as well.
func TestStallAfterACrash(t *testing.T) {
	s := relayed(t, cancelshim.Options{Stall: 10 * time.Second, StallAction: cancelshim.StallSettle})
	s.Gone(1, proxy.Exit{Words: "exited with code 1"})
	s.Client(prompt(2))
	s.Started(2)
	s.Booted(2)
	s.Forget()
	silence(s, 11)
	s.Expect(`agent2< {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`)
}

// TestCancelIsRefused has an agent without a cancel, which says so although
// nobody asked: codex does that.
func TestCancelIsRefused(t *testing.T) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"}}`,
	} {
		s := opened(t, cancelshim.Options{})
		s.Agent(1, line) // of something else
		s.Expect("client< " + line)
		s.Client(prompt(2))
		s.Client(cancelNotice)
		s.Forget()
		s.Agent(1, line)
		s.Expect()
	}
}

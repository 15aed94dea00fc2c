package proxy_test

import (
	"fmt"
	"strings"
	"testing"

	"acp-shim/cancelshim"
	"acp-shim/proxy"
)

func opened(t *testing.T, opt cancelshim.Options) proxy.Script {
	return proxy.Opened(t, proxy.Options{Chain: []proxy.Interceptor{cancelshim.New(opt)}})
}

func prompt(id int) string {
	return fmt.Sprintf(`{"id":%d,"method":"session/prompt","params":{"sessionId":"a","prompt":[]}}`, id)
}

const (
	cancelNotice = `{"method":"session/cancel","params":{"sessionId":"a"}}`
	chunk        = `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}`
	toolCall     = `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"tool_call","toolCallId":"t\"1","status":"pending"}}}`
	toolFailed   = `client< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"tool_call_update","toolCallId":"t\"1","status":"failed"}}}`
)

func cancelled(id int) string {
	return fmt.Sprintf(`client< {"jsonrpc":"2.0","id":%d,"result":{"stopReason":"cancelled"}}`, id)
}

func TestCancelHonoured(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(cancelNotice)
	s.Expect("agent1< "+prompt(2), "agent1< "+cancelNotice)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"cancelled"}}`)
	if s.Armed("grace a") != 0 {
		t.Error("the grace period goes on")
	}
}

// TestCancelWithAnID is pi's: the server knows session/cancel as a notification
// only, and pi waits for an answer.
func TestCancelWithAnID(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(`{"jsonrpc":"2.0","id":12,"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Expect("agent1< "+prompt(2), `agent1< {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"jsonrpc":"2.0","id":12,"result":{}}`, `client< {"id":2,"result":{"stopReason":"cancelled"}}`)
}

// TestCancelAnsweredWithAnError has the server's second known answer, which
// clients would read as "log in".
func TestCancelAnsweredWithAnError(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(cancelNotice)
	s.Agent(1, toolCall)
	s.Forget()
	s.Agent(1, `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"context canceled","data":null}}`)
	s.Expect(toolFailed, `client< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}`)
}

func TestTurnEndsInTheSameMoment(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(cancelNotice)
	s.Forget()
	s.Agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"end_turn"}}`)
}

func TestCancelIgnored(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Agent(1, toolCall)
	s.Client(cancelNotice)
	s.Client(prompt(3)) // the next prompt is there already
	s.Agent(1, chunk)
	s.Forget()
	s.Fire("grace a")
	s.Expect("discard 1", "spawn 2")
	s.Agent(1, chunk)                                         // nothing of that turn reaches the client
	s.Agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`) // nor its answer
	s.Expect()
	s.Started(2)
	s.Booted(2)
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "exited with code 0"})
	s.Expect(toolFailed, cancelled(2),
		`agent2< {"jsonrpc":"2.0","id":"acp-shim/n/2","method":"session/load","params":{"cwd":"/w","mcpServers":[],"sessionId":"a"}}`)
	s.Agent(2, `{"id":"acp-shim/n/2","result":{}}`)
	s.Expect("agent2< " + prompt(3))
}

// TestNextOneLoadsOnlyWhenTheOldOneIsDead has the new process ready first.
func TestNextOneLoadsOnlyWhenTheOldOneIsDead(t *testing.T) {
	s := opened(t, cancelshim.Options{Mode: cancelshim.Emulate})
	s.Client(prompt(2))
	s.Client(cancelNotice)
	s.Client(prompt(3))
	s.Started(2)
	s.Booted(2)
	for _, line := range s.Output() {
		if strings.Contains(line, "session/load") {
			t.Fatalf("two processes own the session: %q", line)
		}
	}
	s.Ladder(1)
	s.Contains("terminate 1")
	s.Contains("kill 1")
	s.Contains(cancelled(2)) // within a second, even if it does not die
	s.Forget()
	s.Client(prompt(4))
	s.Expect() // a busy machine takes its time
	s.Hopeless(1)
	out := s.Output()
	for i := range 2 {
		if len(out) != 2 || !strings.Contains(out[i], fmt.Sprintf(`"id":%d,`, 3+i)) || !strings.Contains(out[i], "does not die") {
			t.Fatalf("got %q", out)
		}
	}
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "was killed"})
	s.Client(prompt(5))
	s.Contains(`agent2< {"jsonrpc":"2.0","id":"acp-shim/n/2","method":"session/load","params":{"cwd":"/w","mcpServers":[],"sessionId":"a"}}`)
}

func TestKnownToIgnore(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	for gen := 1; gen <= 2; gen++ {
		id := 10 * gen
		s.Client(prompt(id))
		s.Client(cancelNotice)
		s.Agent(gen, chunk)
		s.Fire("grace a")
		s.Started(gen + 1)
		s.Booted(gen + 1)
		s.Gone(gen, proxy.Exit{Words: "exited with code 0"})
		s.Contains(cancelled(id))
		s.Client(prompt(id + 1))
		s.Agent(gen+1, fmt.Sprintf(`{"id":"acp-shim/n/%d","result":{}}`, s.Own()))
		s.Agent(gen+1, fmt.Sprintf(`{"id":%d,"result":{"stopReason":"end_turn"}}`, id+1))
		if gen == 1 {
			// A turn that ends by itself in the moment of a cancel honours nothing.
			s.Client(prompt(5))
			s.Client(cancelNotice)
			s.Agent(2, `{"id":5,"result":{"stopReason":"end_turn"}}`)
		}
		s.Forget()
	}
	s.Client(prompt(30))
	s.Client(cancelNotice)
	s.Expect("agent3< "+prompt(30), "discard 3", "spawn 4")
}

func TestOpenPermissionRequest(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Agent(1, `{"id":0,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.Agent(1, `{"id":1,"method":"fs/read_text_file","params":{"sessionId":"a"}}`)
	s.Forget()
	s.Client(cancelNotice)
	s.Expect(`agent1< {"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"cancelled"}}}`,
		`agent1< {"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"the turn was cancelled","data":null}}`, "agent1< "+cancelNotice)
	// One that comes later is settled without the client, and takes no id of its.
	s.Agent(1, `{"id":2,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.Expect(`agent1< {"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"cancelled"}}}`)
	s.Client(`{"id":0,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`) // late
	s.Expect()
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Agent(1, `{"id":0,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.Contains(`client< {"id":0,"method":"session/request_permission","params":{"sessionId":"a"}}`)
}

func TestDiesOfTheCancel(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(cancelNotice)
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "exited with code 1"})
	s.Expect(cancelled(2))
	if left := s.Requests(); left != "" {
		t.Errorf("open: %s", left)
	}
}

func TestNothingToCancel(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(cancelNotice)
	s.Client(`{"id":5,"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Client(`{"id":6,"method":"session/cancel","params":{"sessionId":"unknown"}}`)
	s.Expect(`client< {"jsonrpc":"2.0","id":5,"result":{}}`, `client< {"jsonrpc":"2.0","id":6,"result":{}}`)
}

func TestHeldPromptsAreCancelledToo(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(prompt(3))
	s.Client(cancelNotice)
	s.Expect("agent1< "+prompt(2), cancelled(3), "agent1< "+cancelNotice)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"cancelled"}}`)
}

func TestCancelTwice(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(`{"id":5,"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Client(`{"id":6,"method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Forget()
	s.Fire("answer a") // nobody waits longer than that
	s.Expect(`client< {"jsonrpc":"2.0","id":5,"result":{}}`, `client< {"jsonrpc":"2.0","id":6,"result":{}}`)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"cancelled"}}`)
}

func TestCloseInATurn(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(`{"id":3,"method":"session/close","params":{"sessionId":"a"}}`)
	s.Expect("agent1< "+prompt(2), `agent1< {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"cancelled"}}`, `agent1< {"id":3,"method":"session/close","params":{"sessionId":"a"}}`)
	s.Agent(1, `{"id":3,"result":{}}`)
	s.Expect(`client< {"id":3,"result":{}}`, "release a")
}

func TestCancelRequestForARunningPrompt(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Forget()
	notice := `{"method":"$/cancel_request","params":{"requestId":2}}`
	s.Client(notice)
	s.Expect(`agent1< {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a"}}`, "agent1< "+notice)
	s.Agent(1, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"cancelled"}}`)
}

// TestTerminalsOfAProcessThatIsGone has the client told to end what it runs for
// an agent that cannot any more.
func TestTerminalsOfAProcessThatIsGone(t *testing.T) {
	s := opened(t, cancelshim.Options{Mode: cancelshim.Emulate})
	s.Client(prompt(2))
	s.Agent(1, `{"id":0,"method":"terminal/create","params":{"sessionId":"a","command":"x"}}`)
	s.Client(`{"id":0,"result":{"terminalId":"term 1"}}`)
	s.Client(cancelNotice)
	s.Forget()
	s.Gone(1, proxy.Exit{Words: "exited with code 0"})
	s.Contains(`client< {"jsonrpc":"2.0","id":1073741824,"method":"terminal/kill","params":{"sessionId":"a","terminalId":"term 1"}}`)
	s.Contains(`client< {"jsonrpc":"2.0","id":1073741825,"method":"terminal/release","params":{"sessionId":"a","terminalId":"term 1"}}`)
	s.Contains(cancelled(2))
	s.Forget()
	s.Client(`{"id":1073741824,"result":{}}`)
	s.Expect() // its answer is for nobody
}

// TestEndsTheTurnAtACancelledPermission has an agent take a permission that was
// cancelled for the end of its turn: it would have gone on but for the cancel.
func TestEndsTheTurnAtACancelledPermission(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Agent(1, `{"id":0,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.Client(cancelNotice)
	s.Forget()
	s.Agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.Expect(`client< {"id":2,"result":{"stopReason":"cancelled"}}`)
	// The same for one that is asked for after the cancel.
	s.Client(prompt(3))
	s.Client(cancelNotice)
	s.Agent(1, `{"id":1,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.Forget()
	s.Agent(1, `{"id":3,"result":{"stopReason":"end_turn"}}`)
	s.Expect(`client< {"id":3,"result":{"stopReason":"cancelled"}}`)
}

// TestAnswersOddly has answers that say nothing, or not when the turn ends: each
// request has its one answer, and the next turn can be cancelled.
func TestAnswersOddly(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Agent(1, `{"jsonrpc":"2.0","id":2,"x":1}`)
	s.Client(prompt(3))
	s.Agent(1, `{"id":3,"result":{}}`) // as protocol version 2 has it
	s.Client(cancelNotice)             // whether a turn runs, the agent knows
	s.Expect("agent1< "+prompt(2), `client< {"jsonrpc":"2.0","id":2,"x":1}`, "agent1< "+prompt(3), `client< {"id":3,"result":{}}`, "agent1< "+cancelNotice)
	s.Client(prompt(4))
	s.Client(prompt(5))
	s.Client(cancelNotice)
	s.Expect("agent1< "+prompt(4), cancelled(5), "agent1< "+cancelNotice)
	s.Agent(1, `{"id":4,"result":{"stopReason":"cancelled"}}`)
	s.Expect(`client< {"id":4,"result":{"stopReason":"cancelled"}}`)
	if left := s.Requests(); left != "" {
		t.Errorf("open: %s", left)
	}
}

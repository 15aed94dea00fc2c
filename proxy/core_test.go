package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// TestRelay holds a plain relay to its promise: every line, in both directions,
// byte for byte.
func TestRelay(t *testing.T) {
	s := newScript(t, Options{})
	s.core.start()
	s.core.started(1, 100)
	s.out = nil
	for _, line := range []string{
		initRequest, `{"id":1,"method":"x","params":{"a":1.0,"a":2}}`, `  {"method":"session/cancel" }  `, `[{"id":7,"method":"y"}]`,
		"noise", "", `{"half`, `{"id":99,"result":1}`, `{"id":1.0,"method":"session/prompt","params":{"sessionId":"s"}}`, "{\"method\":\"\xff\"}",
		`{"method":"$/cancel_request","params":{"requestId":1.0}}`,
	} {
		s.client(line)
		s.expect("agent1< " + strings.TrimSpace(line))
	}
	for _, line := range []string{
		initResult, "", "noise", `{"half`, `{"id":7,"result":{}}`, `{"id":12345,"result":{}}`, `{"id":0,"method":"fs/read_text_file"}`, `{"id":0,"method":"fs/read_text_file"}`,
		`[{"id":8,"result":1}]`, `{"method":"session/update","params":{"sessionId":"s"}}`, `{"id":1.0,"result":{"stopReason":"end_turn"}}`, `{"error":{"code":-32700},"id":null}`,
	} {
		s.agent(1, line)
		s.expect("client< " + strings.TrimSpace(line))
	}
}

func TestWhatComesBeforeInitializeIsAnswered(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.client(initRequest)
	s.client(`{"id":1,"method":"session/new","params":{}}`)
	s.expect("spawn 1")
	s.core.started(1, 100)
	s.expect("agent1< " + initRequest)
	s.agent(1, initResult)
	s.expect("client< "+initResult, `agent1< {"id":1,"method":"session/new","params":{}}`)
}

func TestNoAgent(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.client(initRequest)
	s.client(`{"id":"x","method":"session/new"}`)
	s.core.gone(1, Exit{Failed: true, Words: "no agent was found; tried a, b"})
	s.expect("spawn 1",
		`client< {"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"acp-shim: no agent was found; tried a, b","data":{"agent":1,"exit":"no agent was found; tried a, b","reason":"agent_gone"}}}`,
		`client< {"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"acp-shim: no agent was found; tried a, b","data":{"agent":1,"exit":"no agent was found; tried a, b","reason":"agent_gone"}}}`)
	s.client(initRequest)
	s.expect("spawn 2")
}

func TestSecondPromptWaits(t *testing.T) {
	s := opened(t, Options{})
	s.client(prompt(2, "a"))
	s.client(prompt(3, "a"))
	s.client(`{"id":4,"method":"session/set_mode","params":{"sessionId":"a","modeId":"yolo"}}`)
	s.expect("agent1< " + prompt(2, "a"))
	s.agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.expect(`client< {"id":2,"result":{"stopReason":"end_turn"}}`, "agent1< "+prompt(3, "a"),
		`agent1< {"id":4,"method":"session/set_mode","params":{"sessionId":"a","modeId":"yolo"}}`)
}

func TestHeldPromptCanBeCancelledByItsID(t *testing.T) {
	s := opened(t, Options{})
	s.client(prompt(2, "a"))
	s.client(prompt(3, "a"))
	s.out = nil
	s.client(`{"method":"$/cancel_request","params":{"requestId":3}}`)
	s.expect(`client< {"jsonrpc":"2.0","id":3,"error":{"code":-32800,"message":"request cancelled","data":null}}`)
	s.agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.expect(`client< {"id":2,"result":{"stopReason":"end_turn"}}`)
}

// TestCrash has a process die in a turn: its prompt gets an error, once, and the
// next prompt a session that knows what it was.
func TestCrash(t *testing.T) {
	s := opened(t, Options{})
	set := `{"id":2,"method":"session/set_config_option","params":{"sessionId":"a","configId":"model","value":"m"}}`
	s.client(set)
	s.agent(1, `{"id":2,"result":{"configOptions":[]}}`)
	s.client(prompt(3, "a"))
	s.agent(1, `{"id":0,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.out = nil
	s.core.gone(1, Exit{Words: "exited with code 3", Stderr: "boom"})
	s.expect(`client< {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"acp-shim: the agent exited with code 3; its last words: boom","data":{"agent":1,"exit":"exited with code 3","reason":"agent_gone"}}}`)
	s.agent(1, `{"id":3,"result":{"stopReason":"end_turn"}}`)
	s.expect()
	s.client(`{"id":0,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`)
	s.expect() // a late answer reaches nobody
	s.client(prompt(4, "a"))
	s.expect("spawn 2")
	s.core.started(2, 101)
	s.expect(fmt.Sprintf(ownInit, 2, 1))
	s.agent(2, fmt.Sprintf(ownInitReply, 1))
	s.expect(`agent2< {"jsonrpc":"2.0","id":"acp-shim/n/2","method":"session/load","params":{"cwd":"/w","mcpServers":[],"sessionId":"a"}}`)
	s.agent(2, `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"user_message_chunk"}}}`)
	s.expect() // history
	s.agent(2, `{"id":"acp-shim/n/2","result":{}}`)
	s.expect(`agent2< {"jsonrpc":"2.0","id":"acp-shim/n/3","method":"session/set_config_option","params":{"sessionId":"a","configId":"model","value":"m"}}`)
	s.agent(2, `{"id":"acp-shim/n/3","result":{"configOptions":[]}}`)
	s.expect("agent2< " + prompt(4, "a"))
	s.agent(2, `{"id":4,"result":{"stopReason":"end_turn"}}`)
	s.expect(`client< {"id":4,"result":{"stopReason":"end_turn"}}`)
	if left := s.requests(); left != "" {
		t.Errorf("still open: %s", left)
	}
}

func TestLoadRefused(t *testing.T) {
	s := opened(t, Options{})
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.client(prompt(2, "a"))
	s.core.started(2, 1)
	s.agent(2, fmt.Sprintf(ownInitReply, 1))
	s.agent(2, `{"id":"acp-shim/n/2","error":{"code":-32603,"message":"no such session"}}`)
	s.contains(`agent2< {"jsonrpc":"2.0","id":"acp-shim/n/3","method":"session/resume","params":{"cwd":"/w","mcpServers":[],"sessionId":"a"}}`)
	s.agent(2, `{"id":"acp-shim/n/3","error":{"code":-32002,"message":"no such session"}}`)
	// Nothing is lost with it: no turn of it has ended.
	s.contains(`agent2< {"jsonrpc":"2.0","id":"acp-shim/n/4","method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	s.out = nil
	s.agent(2, `{"id":"acp-shim/n/4","result":{"sessionId":"b"}}`)
	s.expect("claim b", `save {"id":"a","real":"b","cwd":"/w"}`, "agent2< "+prompt(2, "b"))
	s.agent(2, `{"method":"session/update","params":{"sessionId":"b","update":{}}}`)
	s.expect(`client< {"method":"session/update","params":{"sessionId":"a","update":{}}}`)
	s.agent(2, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.client(`{"id":5,"method":"session/list"}`)
	s.out = nil
	s.agent(2, `{"id":5,"result":{"sessions":[{"sessionId":"x"},{"sessionId":"b"}]}}`)
	s.expect(`client< {"id":5,"result":{"sessions":[{"sessionId":"x"},{"sessionId":"a"}]}}`)
}

func TestLoadRefusedAfterATurn(t *testing.T) {
	s := opened(t, Options{})
	s.client(prompt(2, "a"))
	s.agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.client(prompt(3, "a"))
	s.core.started(2, 1)
	s.agent(2, fmt.Sprintf(ownInitReply, 1))
	s.agent(2, `{"id":"acp-shim/n/2","error":{"code":-32603,"message":"damaged"}}`)
	s.out = nil
	s.agent(2, `{"id":"acp-shim/n/3","error":{"code":-32603,"message":"damaged"}}`)
	if len(s.out) != 1 || !strings.Contains(s.out[0], `"id":3,"error":{"code":-32603,"message":"acp-shim: session a could not be opened again`) {
		t.Fatalf("got %q", s.out)
	}
	s.out = nil
	s.client(prompt(4, "a")) // one new try
	s.contains(`agent2< {"jsonrpc":"2.0","id":"acp-shim/n/4","method":"session/load","params":{"cwd":"/w","mcpServers":[],"sessionId":"a"}}`)
}

// TestIDsOfTwoProcesses has two agents that both count from 0.
func TestIDsOfTwoProcesses(t *testing.T) {
	s := opened(t, Options{})
	s.client(`{"id":2,"method":"session/new","params":{"cwd":"/w"}}`)
	s.expect("spawn 2")
	s.core.started(2, 1)
	s.agent(2, fmt.Sprintf(ownInitReply, 1))
	s.agent(2, `{"id":2,"result":{"sessionId":"b"}}`)
	s.out = nil
	ask := `{"id":0,"method":"session/request_permission","params":{"sessionId":"%s"}}`
	s.agent(1, fmt.Sprintf(ask, "a"))
	s.agent(2, fmt.Sprintf(ask, "b"))
	s.expect("client< "+fmt.Sprintf(ask, "a"), `client< {"id":1073741824,"method":"session/request_permission","params":{"sessionId":"b"}}`)
	s.agent(2, `{"method":"$/cancel_request","params":{"requestId":0}}`)
	s.expect(`client< {"method":"$/cancel_request","params":{"requestId":1073741824}}`)
	s.client(`{"id":1073741824,"result":"b"}`)
	s.client(`{"id":0,"result":"a"}`)
	s.expect(`agent2< {"id":0,"result":"b"}`, `agent1< {"id":0,"result":"a"}`)
}

func TestClientsOwnLoadTakesThePlaceOfOurs(t *testing.T) {
	s := opened(t, Options{})
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.client(prompt(2, "a"))
	load := `{"id":3,"method":"session/load","params":{"sessionId":"a","cwd":"/other","mcpServers":[]}}`
	s.client(load)
	s.core.started(2, 1)
	s.out = nil
	s.agent(2, fmt.Sprintf(ownInitReply, 1))
	s.expect("agent2< " + load)
	s.agent(2, `{"method":"session/update","params":{"sessionId":"a"}}`)
	s.agent(2, `{"id":3,"result":{}}`)
	s.expect(`client< {"method":"session/update","params":{"sessionId":"a"}}`, `client< {"id":3,"result":{}}`, "agent2< "+prompt(2, "a"))
}

func TestSessionOfAnotherShim(t *testing.T) {
	s := begun(t, Options{})
	s.client(`{"id":1,"method":"session/load","params":{"sessionId":"a","cwd":"/w"}}`)
	s.client(prompt(2, "a"))
	s.core.claimed("a", nil, "session a is in use by another acp-shim (pid 7)")
	s.expect("claim a",
		`client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"acp-shim: session a is in use by another acp-shim (pid 7)","data":null}}`,
		`client< {"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"acp-shim: session a is in use by another acp-shim (pid 7)","data":null}}`,
		"release a")
}

// TestRememberedSettingsShow has a client load a session in a later run: the
// answer shows the model and mode that it had.
func TestRememberedSettingsShow(t *testing.T) {
	s := begun(t, Options{})
	s.client(`{"id":1,"method":"session/load","params":{"sessionId":"a","cwd":"/w"}}`)
	s.remembers(Record{ID: "a", Config: []Setting{
		{Key: "model", Method: mSetConfig, Params: `{"sessionId":"a","configId":"model","value":"m2"}`},
		{Key: "mode", Method: mSetMode, Params: `{"sessionId":"a","modeId":"yolo"}`}}})
	s.out = nil
	s.agent(1, `{"id":1,"result":{"modes":{"currentModeId":"default","availableModes":[{"id":"yolo"}]},"models":{"currentModelId":"m1","availableModels":[{"modelId":"m2"}]},"configOptions":[1]}}`)
	s.client(prompt(2, "a"))
	s.expect(`agent1< {"jsonrpc":"2.0","id":"acp-shim/n/1","method":"session/set_config_option","params":{"sessionId":"a","configId":"model","value":"m2"}}`,
		`agent1< {"jsonrpc":"2.0","id":"acp-shim/n/2","method":"session/set_mode","params":{"sessionId":"a","modeId":"yolo"}}`)
	s.agent(1, `{"id":"acp-shim/n/1","result":{"configOptions":[2]}}`)
	s.agent(1, `{"id":"acp-shim/n/2","result":{}}`)
	s.expect(`client< {"id":1,"result":{"modes":{"currentModeId":"yolo","availableModes":[{"id":"yolo"}]},"models":{"currentModelId":"m2","availableModels":[{"modelId":"m2"}]},"configOptions":[2]}}`,
		"agent1< "+prompt(2, "a"))
}

func TestTooManyProcesses(t *testing.T) {
	s := opened(t, Options{MaxAgents: 1})
	s.client(prompt(2, "a"))
	s.client(`{"id":3,"method":"session/new","params":{"cwd":"/w"}}`)
	s.expect("agent1< " + prompt(2, "a")) // a turn runs: the other waits
	s.agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.contains("discard 1") // a is idle: its process makes room
	s.contains("spawn 2")
	s.core.started(2, 1)
	s.agent(2, fmt.Sprintf(ownInitReply, 1))
	s.out = nil
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.agent(2, `{"id":3,"result":{"sessionId":"b"}}`)
	s.expect(`client< {"id":3,"result":{"sessionId":"b"}}`, "claim b")
}

func TestEndOfInput(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.client(initRequest)
	s.client(`{"id":1,"method":"session/new","params":{}}`)
	s.core.clientEOF()
	s.core.started(1, 1)
	s.agent(1, initResult)
	s.expect("spawn 1", "agent1< "+initRequest, "client< "+initResult, `agent1< {"id":1,"method":"session/new","params":{}}`, "close 1")
	s.agent(1, `{"id":1,"result":{"sessionId":"a"}}`)
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.contains(`client< {"id":1,"result":{"sessionId":"a"}}`)
	s.contains("finished 0")
}

func TestCrashLoopStops(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	for gen := 1; gen <= crashLimit; gen++ {
		s.client(initRequest)
		s.core.gone(gen, Exit{Words: "exited with code 1"})
	}
	s.out = nil
	s.client(initRequest)
	if len(s.out) != 1 || !strings.Contains(s.out[0], "ended 3 times within 30 s and is not started again") {
		t.Fatalf("got %q", s.out)
	}
	s.fire(timerKey{kind: timerCrash, gen: 1})
	s.out = nil
	s.client(initRequest)
	s.expect("spawn 4")
}

func TestDuplicateIDs(t *testing.T) {
	s := opened(t, Options{})
	s.client(`{"id":9,"method":"_x","params":{"sessionId":"a"}}`)
	s.client(`{"id":9,"method":"_y","params":{"sessionId":"a"}}`)
	s.out = nil
	s.agent(1, `{"id":9,"result":1}`)
	s.agent(1, `{"id":9,"result":2}`)
	s.agent(1, `{"id":9,"result":3}`)
	s.expect(`client< {"id":9,"result":1}`, `client< {"id":9,"result":2}`)
}

func TestAllocations(t *testing.T) {
	s := opened(t, Options{})
	s.core.taps = nil
	chunk := []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"content":{"text":"HELLO ACP.","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n")
	s.core.fx = nothing{s}
	if n := testing.AllocsPerRun(1000, func() { s.core.agentLine(1, chunk) }); n != 0 {
		t.Errorf("%v allocations a chunk", n)
	}
}

// nothing carries frames nowhere.
type nothing struct{ *script }

func (nothing) toClient([]byte)     {}
func (nothing) toAgent(int, []byte) {}

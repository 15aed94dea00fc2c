package proxy

import (
	"fmt"
	"testing"
	"time"
)

// TestRefusedSettingsDoNotShow has an agent that does not take the model any
// more: neither an answer nor an update may say that it has.
func TestRefusedSettingsDoNotShow(t *testing.T) {
	config := []Setting{
		{Key: "model", Method: mSetConfig, Params: `{"sessionId":"a","configId":"model","value":"big"}`},
		{Key: "mode", Method: mSetMode, Params: `{"sessionId":"a","modeId":"yolo"}`}}
	const options = `[{"id":"model","currentValue":"small","options":[{"value":"small"},{"value":"big"}]},{"id":"mode","currentValue":"default","options":[{"value":"yolo"}]}]`
	const want = `[{"id":"model","currentValue":"small","options":[{"value":"small"},{"value":"big"}]},{"id":"mode","currentValue":"yolo","options":[{"value":"yolo"}]}]`
	s := begun(t, Options{})
	s.client(`{"id":1,"method":"session/load","params":{"sessionId":"a","cwd":"/w"}}`)
	s.remembers(Record{ID: "a", Config: config})
	s.agent(1, `{"id":1,"result":{"configOptions":`+options+`}}`)
	s.agent(1, `{"id":"acp-shim/n/1","error":{"code":-32602,"message":"no such model"}}`)
	s.out = nil
	s.agent(1, `{"id":"acp-shim/n/2","result":{}}`)
	s.expect(`client< {"id":1,"result":{"configOptions":` + want + `}}`)
	// The same on a way back that the client does not see.
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.client(prompt(2, "a"))
	s.core.started(2, 1)
	s.agent(2, fmt.Sprintf(ownInitReply, 3))
	s.agent(2, `{"id":"acp-shim/n/4","result":{"configOptions":`+options+`}}`)
	s.agent(2, `{"id":"acp-shim/n/5","error":{"code":-32602,"message":"no such model"}}`)
	s.out = nil
	s.agent(2, `{"id":"acp-shim/n/6","result":{}}`)
	s.expect(`client< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"config_option_update","configOptions":`+want+`}}}`,
		"agent2< "+prompt(2, "a"))
}

// TestCloseOfAColdSession has nothing to close: no process holds it, and an agent
// that never had it would answer with an error.
func TestCloseOfAColdSession(t *testing.T) {
	s := opened(t, Options{})
	s.core.gone(1, Exit{Words: "exited with code 0"})
	s.client(`{"id":2,"method":"session/close","params":{"sessionId":"a"}}`)
	s.expect(`client< {"jsonrpc":"2.0","id":2,"result":{}}`, "release a")
}

// TestNobodyWaitsForGood has an agent answer neither the client's initialize nor
// its load.
func TestNobodyWaitsForGood(t *testing.T) {
	s := newScript(t, Options{Policy: exclusive})
	s.core.start()
	s.core.started(1, 1)
	s.client(initRequest)
	s.fire(timerKey{kind: timerStart, gen: 1})
	s.core.gone(1, Exit{Words: "was killed"})
	s.contains(`client< {"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"acp-shim: the agent was ended, since it did not answer initialize within 60 s","data":{"agent":1,"exit":"was killed","reason":"agent_gone"}}}`)

	s = begun(t, Options{})
	s.client(`{"id":1,"method":"session/load","params":{"sessionId":"a","cwd":"/w"}}`)
	s.core.claimed("a", nil, "")
	s.fire(timerKey{kind: timerLoad, name: "a"})
	s.core.gone(1, Exit{Words: "was killed"})
	s.contains(`client< {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"acp-shim: the agent was ended, since it did not open the session within 60 s","data":{"agent":1,"exit":"was killed","reason":"agent_gone"}}}`)
}

func TestTooLong(t *testing.T) {
	s := opened(t, Options{})
	s.agent(1, `{"id":0,"method":"fs/read_text_file","params":{"sessionId":"a"}}`)
	s.out = nil
	s.core.clientTooLong([]byte(`{"id":0,"result":{"content":"xxxx`), 1<<20)
	s.expect(`agent1< {"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"acp-shim: the client's answer was too long to be passed on","data":null}}`)
	s.core.clientTooLong([]byte(`{"id":5,"method":"session/prompt","params":{"sessi`), 1<<20)
	s.expect(`client< {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"acp-shim: a frame of more than 1 MiB was not sent on; split it, or raise --max-frame","data":null}}`)
	s.core.agentTooLong(1, []byte(`{"id":7,"method":"fs/write_text_file","params":{"content":"xxx`), 1<<20)
	s.expect(`agent1< {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"acp-shim: a request of more than 1 MiB was not passed on","data":null}}`)
}

// TestLoginChanged replaces what runs nothing at once, and what runs a turn when
// that has ended.
func TestLoginChanged(t *testing.T) {
	s := opened(t, Options{})
	s.client(prompt(2, "a"))
	s.out = nil
	s.core.renew("the login settings have changed", nil)
	s.expect()
	s.agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.expect(`client< {"id":2,"result":{"stopReason":"end_turn"}}`, "discard 1")
}

// TestSomethingWaitsForASoftEnd has a process that was given time to end hurried
// when its session is wanted.
func TestSomethingWaitsForASoftEnd(t *testing.T) {
	s := opened(t, Options{IdleTimeout: time.Hour})
	s.fire(timerKey{kind: timerIdle, name: "a"})
	kill := timerKey{kind: timerKill, gen: 1}
	if d := s.timers[kill]; d != soft*killAfter {
		t.Fatalf("an idle process is killed after %v", d)
	}
	s.client(prompt(2, "a"))
	if d := s.timers[kill]; d != killAfter {
		t.Errorf("with a prompt behind it, it is killed after %v", d)
	}
}

// TestBackgroundCommandMakesRoom has the only process busy with a command whose
// end the agent never tells: it must not keep others waiting for good, and is not
// ended for being idle.
func TestBackgroundCommandMakesRoom(t *testing.T) {
	s := opened(t, Options{MaxAgents: 1, IdleTimeout: time.Hour})
	s.client(prompt(2, "a"))
	s.agent(1, `{"method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"tool_call","toolCallId":"t","status":"in_progress"}}}`)
	s.agent(1, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	s.out = nil
	s.fire(timerKey{kind: timerIdle, name: "a"})
	s.expect()
	s.client(`{"id":3,"method":"session/new","params":{"cwd":"/w"}}`)
	s.expect("discard 1", "spawn 2")
}

// TestMalformedUnderATakenID has frames that cannot be changed, since a key is
// given twice, where an id would have to be: they must not pass for another one.
func TestMalformedUnderATakenID(t *testing.T) {
	s := opened(t, Options{})
	s.client(`{"id":2,"method":"session/new","params":{"cwd":"/w"}}`)
	s.core.started(2, 1)
	s.agent(2, fmt.Sprintf(ownInitReply, 1))
	s.agent(2, `{"id":2,"result":{"sessionId":"b"}}`)
	s.agent(1, `{"id":0,"method":"session/request_permission","params":{"sessionId":"a"}}`)
	s.out = nil
	s.agent(2, `{"id":7,"id":0,"method":"session/request_permission","params":{"sessionId":"b"}}`)
	s.expect(`agent2< {"jsonrpc":"2.0","id":0,"error":{"code":-32600,"message":"acp-shim: the request is malformed","data":null}}`)
	s.agent(2, `{"id":0,"method":"session/request_permission","params":{"sessionId":"b"}}`)
	s.expect(`client< {"id":1073741825,"method":"session/request_permission","params":{"sessionId":"b"}}`)
	s.client(`{"id":5,"id":1073741825,"result":"allow"}`)
	s.expect(`agent2< {"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"acp-shim: the client's answer is malformed","data":null}}`)
}

// TestOneFrameMayBeLong: what may wait is bounded, and a single frame only by its own
// limit: where nothing waits it passes.
func TestOneFrameMayBeLong(t *testing.T) {
	s := opened(t, Options{})
	m := &Message{Raw: make([]byte, heldLimit+1)} // nobody looks at its pages
	if s.core.tooMuch(m) {
		t.Error("a frame is too long for nothing that waits")
	}
	s.core.heldSize = 1
	if !s.core.tooMuch(m) {
		t.Error("it may wait beside others")
	}
	s.core.heldSize = heldLimit + 1
	if !s.core.tooMuch(&Message{Raw: []byte("{}\n")}) {
		t.Error("more may wait beside it")
	}
}

package show

import (
	"fmt"
	"strings"
	"testing"
)

// TestGist has a frame of every kind that has a gist of its own; a response
// follows its request.
func TestGist(t *testing.T) {
	for _, x := range []struct{ ask, gist, answer, answered string }{
		{`"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"zed","version":"2"},"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":true}}`,
			"zed 2, protocol 1, readTextFile terminal",
			`"result":{"protocolVersion":1,"agentInfo":{"name":"agy","version":"3"},"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"list":{}}},"authMethods":[{"id":"key"},{"id":"web"}]}`,
			"agy 3, protocol 1, loadSession list, login key, web"},
		{`"method":"authenticate","params":{"methodId":"key"}`, "key",
			`"error":{"code":-32000,"message":"Authentication required","data":{"why": "no"}}`, `error -32000: Authentication required {"why":"no"}`},
		{`"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"a"},{"name":"b"}]}`, "/w, mcp a, b",
			`"result":{"sessionId":"s","modes":{"currentModeId":"default"},"models":{"currentModelId":"big"}}`, "big, default"},
		{`"method":"session/list","params":{}`, "", `"result":{"sessions":[{},{}]}`, "2 sessions"},
		{`"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"look at"},{"type":"image","mimeType":"image/png","data":"AAAAAAAA"},{"type":"resource_link","uri":"file:///x"}]}`,
			"look at [image image/png 6 B] [file:///x]",
			`"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5}}`, "end_turn, 10 tokens in, 5 out"},
		{`"method":"session/set_mode","params":{"modeId":"yolo"}`, "yolo", `"result":{}`, ""},
		{`"method":"session/set_model","params":{"modelId":"m"}`, "m", `"result":null`, ""},
		{`"method":"session/set_config_option","params":{"configId":"model","value":"m"}`, "model = m",
			`"result":{"configOptions":[{"id":"model","currentValue":"m"}]}`, "model = m"},
		{`"method":"session/request_permission","params":{"toolCall":{"title":"Run ls","kind":"execute"},"options":[{"optionId":"allow"},{"optionId":"deny"}]}`,
			"Run ls (execute): allow | deny", `"result":{"outcome":{"outcome":"selected","optionId":"allow"}}`, "selected allow"},
		{`"method":"fs/read_text_file","params":{"path":"/x","line":3}`, "/x, from line 3", `"result":{"content":"a\nb"}`, "2 lines, 3 B"},
		{`"method":"fs/write_text_file","params":{"path":"/x","content":"abc"}`, "/x, 3 B", `"result":null`, ""},
		{`"method":"terminal/create","params":{"command":"ls","args":["-l","/"]}`, "ls -l /", `"result":{"terminalId":"t1"}`, "t1"},
		{`"method":"terminal/output","params":{"terminalId":"t1"}`, "t1", `"result":{"output":"hi","exitStatus":{"exitCode":0}}`, "exit 0, hi"},
		{`"method":"terminal/wait_for_exit","params":{"terminalId":"t1"}`, "t1", `"result":{"signal":"KILL"}`, "signal KILL"},
		{`"method":"_own/thing","params":{"a": 1}`, `{"a":1}`, `"result":{"b": [2]}`, `{"b":[2]}`},
	} {
		list := read(t, line(1, "client", "agent#1", `{"id":1,`+x.ask+`}`, ""), line(2, "agent#1", "client", `{"id":1,`+x.answer+`}`, ""))
		same(t, []string{Gist(list[0]), Gist(list[1])}, x.gist, x.answered)
	}
}

func TestUpdateGist(t *testing.T) {
	for _, x := range [][2]string{
		{`"agent_message_chunk","content":{"type":"text","text":"hi"}`, "hi"},
		{`"tool_call","toolCallId":"t","title":"Edit x","kind":"edit","status":"pending","content":[{"type":"diff","path":"/x"}]`, "[edit] pending Edit x diff /x"},
		{`"tool_call_update","toolCallId":"t","status":"completed","content":[{"type":"content","content":{"type":"text","text":"done"}}]`, "completed “done” (t)"},
		{`"tool_call_update","toolCallId":"t","status":"failed","rawOutput":{"e":1}`, `failed → {"e":1} (t)`},
		{`"plan","entries":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"}]`, "1 of 2 done, b"},
		{`"available_commands_update","availableCommands":[{"name":"plan"},{"name":"logout"}]`, "/plan /logout"},
		{`"current_mode_update","currentModeId":"yolo"`, "yolo"},
		{`"usage_update","used":12345,"size":100000`, "12345 of 100000 tokens (12.3%)"},
		{`"session_info_update","title":"T"`, "T"},
		{`"brand_new","x":1`, `{"sessionUpdate":"brand_new","x":1}`},
	} {
		if got := Gist(read(t, update(1, "s", `{"sessionUpdate":`+x[0]+`}`))[0]); got != x[1] {
			t.Errorf("%s is %q, want %q", x[0], got, x[1])
		}
	}
}

func TestEventGist(t *testing.T) {
	for _, x := range [][2]string{
		{`"event":"spawn","agent":"agent#1","data":{"pid":7}`, "pid 7"},
		{`"event":"exit","agent":"agent#1","text":"killed","data":{"unsent":2048}`, "killed, 2.0 kB queued for it were never sent"},
		{`"event":"gap","data":{"frames":3,"events":1,"bytes":4096,"first":20,"last":22,"why":"the disk is full"}`, "3 frames and 1 event are not here, 4.1 kB, of seq 20 to 22, the disk is full"},
		{`"event":"end","data":{"frames":9,"events":1,"bytes":8192,"lost":2}`, "9 frames, 1 event, 8.2 kB, 2 lost"},
		{`"event":"stderr","agent":"agent#1","text":"E1130 12:48:26.057171   99 x.go:1] bad\n"`, "E x.go:1] bad"},
		{`"event":"stderr","agent":"agent#1","text":"Every day is a new day 12:00:00 x]"`, "Every day is a new day 12:00:00 x]"},
		{`"event":"new","text":"word","data":{"a":1}`, `word {"a":1}`},
	} {
		if got := Gist(read(t, `{"seq":1,"t":1,`+x[0]+`}`)[0]); got != x[1] {
			t.Errorf("%s is %q, want %q", x[0], got, x[1])
		}
	}
	r := read(t, `{"seq":1,"t":1,"from":"agent#1","to":null,"text":"Opening browser\r","why":"noise"}`)[0]
	if got := Gist(r); got != "Opening browser" {
		t.Errorf("noise is %q", got)
	}
}

// TestGistIsShort: a gist does not grow with its frame.
func TestGistIsShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, frame := range []string{
		`{"id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"%s"}]}}`,
		`{"id":1,"method":"_own","params":{"a":"%s"}}`,
		`{"id":1,"result":{"a":"%s"}}`,
		`{"id":1,"error":{"code":1,"message":"%s"}}`,
		`{"method":"session/update","params":{"update":{"sessionUpdate":"tool_call","title":"%s"}}}`,
		`["%s"]`,
	} {
		r := read(t, line(1, "client", "agent#1", fmt.Sprintf(frame, long), ""))[0]
		if n := len(Gist(r)); n > 2*head {
			t.Errorf("%s has a gist of %d bytes", frame, n)
		}
	}
}

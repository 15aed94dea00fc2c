package replay

import (
	"fmt"
	"strings"
	"testing"
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	hello      = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`
)

func opening(id int, cwd string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/new","params":{"cwd":"%s","mcpServers":[]}}`, id, cwd)
}

func opened(id int, session string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"sessionId":"%s"}}`, id, session)
}

func loading(id int, session, cwd string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/load","params":{"sessionId":"%s","cwd":"%s","mcpServers":[]}}`, id, session, cwd)
}

func prompt(id int, session, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"%s","prompt":[{"type":"text","text":"%s"}]}}`, id, session, text)
}

func chunk(session, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}`, session, text)
}

func stopped(id int, why string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"%s"}}`, id, why)
}

func done(id int) string { return stopped(id, "end_turn") }

func cancelOf(session string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"%s"}}`, session)
}

func permission(id int, session, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"session/request_permission","params":{"sessionId":"%s","toolCall":{"toolCallId":"%s","title":"Run"},"options":[{"optionId":"allow","kind":"allow_once","name":"Allow"}]}}`, id, session, tool)
}

func allowed(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`, id)
}

// Sessions whose ids look like those of agents.
const (
	sessionA = "aaaaaaaa-0000-4000-8000-000000000001"
	sessionB = "bbbbbbbb-0000-4000-8000-000000000002"
)

// plays are recordings and what clients get from them. What stands behind > is
// written, what stands behind < is read.
var plays = map[string]struct {
	recorded, played []string
	options          Options
	misses           int
}{
	"another order, with other ids": {
		recorded: []string{"> " + initialize, "< " + hello, "> " + opening(1, "/p"), "< " + opened(1, sessionA),
			"> " + prompt(2, sessionA, "one"), "< " + chunk(sessionA, "1"), "< " + done(2),
			"> " + prompt(3, sessionA, "two"), "< " + chunk(sessionA, "2"), "< " + done(3)},
		played: []string{"> " + opening(7, "/p"), "< " + opened(7, sessionA), "> " + prompt(8, sessionA, "two"), "< " + chunk(sessionA, "2"), "< " + done(8),
			"> " + initialize, "< " + hello, "> " + prompt(9, sessionA, "one"), "< " + chunk(sessionA, "1"), "< " + done(9)},
	},
	"equal requests in their order, and the last again": {
		recorded: []string{"> " + prompt(2, "s", "hi"), "< " + chunk("s", "1"), "< " + done(2), "> " + prompt(3, "s", "hi"), "< " + chunk("s", "2"), "< " + done(3)},
		played: []string{"> " + prompt(1, "s", "hi"), "< " + chunk("s", "1"), "< " + done(1), "> " + prompt(2, "s", "hi"), "< " + chunk("s", "2"), "< " + done(2),
			"> " + prompt(3, "s", "hi"), "< " + chunk("s", "2"), "< " + done(3)},
	},
	"a directory of the client's own": {
		recorded: []string{"> " + opening(1, "/home/dev/app"), "< " + opened(1, sessionA),
			"> " + prompt(2, sessionA, "read /home/dev/app/x"), "< " + chunk(sessionA, "/home/dev/app/x, not /home/dev/app2 or /opt/home/dev/app, but\\n/home/dev/app."), "< " + done(2)},
		played: []string{"> " + opening(1, "/w"), "< " + opened(1, sessionA),
			"> " + prompt(2, sessionA, "read /w/x"), "< " + chunk(sessionA, "/w/x, not /home/dev/app2 or /opt/home/dev/app, but\\n/w."), "< " + done(2)},
	},
	"a session that is opened and then loaded from elsewhere": {
		recorded: []string{"> " + opening(1, "/home/dev"), "< " + opened(1, sessionA), "> " + loading(2, sessionA, "/home/dev"), `< {"id":2,"result":{"at":"/home/dev"}}`,
			"> " + prompt(3, sessionA, "where"), "< " + chunk(sessionA, "/home/dev"), "< " + done(3)},
		played: []string{"> " + opening(1, "/a/b"), "< " + opened(1, sessionA), "> " + loading(2, sessionA, "/c/d"), `< {"id":2,"result":{"at":"/c/d"}}`,
			"> " + prompt(3, sessionA, "where"), "< " + chunk(sessionA, "/c/d"), "< " + done(3)},
	},
	"directories that change places": {
		recorded: []string{"> " + opening(1, "/a/a"), "< " + opened(1, sessionA), "> " + opening(2, "/b/b"), "< " + opened(2, sessionB),
			`> {"id":3,"method":"session/list"}`, `< {"id":3,"result":{"sessions":[{"sessionId":"` + sessionA + `","cwd":"/a/a"},{"sessionId":"` + sessionB + `","cwd":"/b/b"}]}}`},
		played: []string{"> " + opening(1, "/b/b"), "< " + opened(1, sessionB), "> " + opening(2, "/a/a"), "< " + opened(2, sessionA),
			`> {"id":3,"method":"session/list"}`, `< {"id":3,"result":{"sessions":[{"sessionId":"` + sessionA + `","cwd":"/a/a"},{"sessionId":"` + sessionB + `","cwd":"/b/b"}]}}`},
	},
	"a session of the client's own": {
		recorded: []string{"> " + loading(1, sessionA, "/p/q"), "< " + chunk(sessionA, "history"), "< " + `{"jsonrpc":"2.0","id":1,"result":{}}`,
			"> " + prompt(2, sessionA, "hi"), "< " + chunk(sessionA, "hi "+sessionA+":7"), "< " + done(2)},
		played: []string{"> " + loading(1, "mine", "/w"), "< " + chunk("mine", "history"), "< " + `{"jsonrpc":"2.0","id":1,"result":{}}`,
			"> " + prompt(2, "mine", "hi"), "< " + chunk("mine", "hi mine:7"), "< " + done(2)},
	},
	"a session that is handed out again has another name": {
		recorded: []string{"> " + opening(1, "/p"), "< " + opened(1, "s1"), "> " + prompt(2, "s1", "hi"), "< " + chunk("s1", "s1"), "< " + done(2)},
		played: []string{"> " + opening(1, "/p"), "< " + opened(1, "s1"), "> " + opening(2, "/p"), "< " + opened(2, "s1-2"),
			"> " + prompt(3, "s1-2", "hi"), "< " + chunk("s1-2", "s1"), "< " + done(3), "> " + prompt(4, "s1", "hi"), "< " + chunk("s1", "s1"), "< " + done(4)},
	},
	"an agent's request waits for its answer": {
		recorded: []string{"> " + prompt(2, "s", "do"), "< " + permission(0, "s", "t1"), "< " + chunk("s", "meanwhile"), "> " + allowed(0), "< " + chunk("s", "done"), "< " + done(2)},
		played: []string{"> " + prompt(5, "s", "do"), "< " + permission(0, "s", "t1"), "< " + chunk("s", "meanwhile"), `> {"id":"0","result":{}}`,
			`> {"id":9,"method":"session/list"}`, `< ` + noList, "> " + allowed(0), "< " + chunk("s", "done"), "< " + done(5)},
		misses: 1,
	},
	"ids of the agent's that are taken": {
		recorded: []string{"> " + prompt(2, "a", "do"), "< " + permission(0, "a", "t1"), "> " + allowed(0), "< " + done(2),
			"> " + prompt(3, "b", "do"), "< " + permission(0, "b", "t1"), "> " + allowed(0), "< " + done(3)},
		played: []string{"> " + prompt(2, "a", "do"), "< " + permission(0, "a", "t1"), "> " + prompt(3, "b", "do"), "< " + permission(1<<30, "b", "t1"),
			"> " + allowed(1<<30), "< " + done(3), "> " + allowed(0), "< " + done(2)},
	},
	"what follows a cancel waits for one": {
		recorded: []string{"> " + prompt(2, "s", "long"), "< " + chunk("s", "1"), "> " + cancelOf("s"), "< " + chunk("s", "2"), "< " + stopped(2, "cancelled")},
		played: []string{"> " + prompt(3, "s", "long"), "< " + chunk("s", "1"), `> {"id":9,"method":"session/list"}`, `< ` + noList,
			"> " + cancelOf("s"), "< " + chunk("s", "2"), "< " + stopped(3, "cancelled")},
		misses: 1,
	},
	"a turn waits for the one before": {
		recorded: []string{"> " + prompt(2, "s", "one"), "< " + permission(0, "s", "t1"), "> " + allowed(0), "< " + done(2), "> " + prompt(3, "s", "two"), "< " + chunk("s", "2"), "< " + done(3)},
		played: []string{"> " + prompt(2, "s", "one"), "> " + prompt(3, "s", "two"), "< " + permission(0, "s", "t1"), `> {"id":9,"method":"session/list"}`, `< ` + noList,
			"> " + allowed(0), "< " + done(2), "< " + chunk("s", "2"), "< " + done(3)},
		misses: 1,
	},
	"turns that were recorded at the same time": {
		recorded: []string{"> " + prompt(2, "s", "one"), "< " + permission(0, "s", "t1"), "> " + prompt(3, "s", "two"), "< " + done(3), "> " + allowed(0), "< " + done(2)},
		played:   []string{"> " + prompt(2, "s", "one"), "> " + prompt(3, "s", "two"), "< " + permission(0, "s", "t1"), "< " + done(3), "> " + allowed(0), "< " + done(2)},
	},
	"a cancel that wants an answer": {
		recorded: []string{"> " + prompt(2, "s", "long"), "< " + chunk("s", "1"), `> {"id":3,"method":"session/cancel","params":{"sessionId":"s"}}`, "< " + stopped(2, "cancelled"), `< {"id":3,"result":{}}`},
		played:   []string{"> " + prompt(5, "s", "long"), "< " + chunk("s", "1"), `> {"id":6,"method":"session/cancel","params":{"sessionId":"s"}}`, "< " + stopped(5, "cancelled"), `< {"id":6,"result":{}}`},
	},
	"JSON-RPC's own cancel names the client's id": {
		recorded: []string{"> " + prompt(2, "s", "long"), "< " + chunk("s", "1"), `> {"method":"$/cancel_request","params":{"requestId":2}}`, "< " + stopped(2, "cancelled")},
		played: []string{"> " + prompt(77, "s", "long"), "< " + chunk("s", "1"), `> {"method":"$/cancel_request","params":{"requestId":2}}`,
			`> {"id":9,"method":"session/list"}`, `< ` + noList, `> {"method":"$/cancel_request","params":{"requestId":77}}`, "< " + stopped(77, "cancelled")},
		misses: 1,
	},
	"sessions do not wait for each other": {
		recorded: []string{"> " + prompt(2, "a", "x"), "< " + chunk("a", "1"), "> " + prompt(3, "b", "y"), "< " + chunk("b", "1"), "< " + chunk("a", "2"), "< " + done(3), "< " + done(2)},
		played:   []string{"> " + prompt(4, "b", "y"), "< " + chunk("b", "1"), "< " + done(4), "> " + prompt(5, "a", "x"), "< " + chunk("a", "1"), "< " + chunk("a", "2"), "< " + done(5)},
	},
	"requests of one session that run at the same time": {
		recorded: []string{"> " + prompt(2, "s", "x"), "< " + chunk("s", "1"), `> {"id":3,"method":"session/set_mode","params":{"sessionId":"s","modeId":"yolo"}}`,
			"< " + chunk("s", "2"), `< {"id":3,"result":{}}`, "< " + done(2)},
		played: []string{"> " + prompt(2, "s", "x"), "< " + chunk("s", "1"), "< " + chunk("s", "2"), "< " + done(2),
			`> {"id":9,"method":"session/set_mode","params":{"modeId":"yolo","sessionId":"s"}}`, `< {"id":9,"result":{}}`},
	},
	"a hung turn is not given what later turns have": {
		recorded: []string{"> " + prompt(2, "s", "hang"), "> " + prompt(3, "s", "go on"), "< " + chunk("s", "1"), "< " + done(3)},
		played:   []string{"> " + prompt(3, "s", "go on"), "< " + chunk("s", "1"), "< " + done(3)},
	},
	"the end of the recording is before the answer": {
		recorded: []string{"> " + prompt(2, "s", "x"), "< " + chunk("s", "1")},
		played: []string{"> " + prompt(7, "s", "x"), "< " + chunk("s", "1"),
			`< {"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"acp-shim replay: the recording ends before the answer to session/prompt of line 2"}}`},
	},
	"a request that was never answered": {
		recorded: []string{"> " + prompt(2, "s", "x"), "< " + chunk("s", "1"), "end"},
		played:   []string{"> " + prompt(7, "s", "x"), "< " + chunk("s", "1")},
	},
	"an update before the answer that makes its session": {
		recorded: []string{"> " + opening(1, "/p"), "< " + chunk(sessionA, "early"), "< " + opened(1, sessionA), "< " + chunk(sessionA, "late"), `> {"id":2,"method":"logout"}`, `< {"id":2,"result":{}}`},
		played:   []string{`> {"id":2,"method":"logout"}`, `< {"id":2,"result":{}}`, "> " + opening(1, "/p"), "< " + chunk(sessionA, "early"), "< " + opened(1, sessionA), "< " + chunk(sessionA, "late")},
	},
	"a fork has a session of its own": {
		recorded: []string{"> " + opening(1, "/p/q"), "< " + opened(1, sessionA), `> {"id":2,"method":"session/fork","params":{"sessionId":"` + sessionA + `"}}`, "< " + opened(2, sessionB),
			"> " + prompt(3, sessionB, "hi"), "< " + chunk(sessionB, "1"), "< " + done(3)},
		played: []string{"> " + opening(1, "/w"), "< " + opened(1, sessionA), `> {"id":2,"method":"session/fork","params":{"sessionId":"` + sessionA + `"}}`, "< " + opened(2, sessionB),
			"> " + prompt(3, sessionB, "hi"), "< " + chunk(sessionB, "1"), "< " + done(3)},
	},
	"what a capture does not have stands for anything": {
		recorded: []string{`> {"id":1,"method":"session/new","params":{"cwd":"/p","mcpServers":[{"url":"http://127.0.0.1:4711/mcp","headers":[{"name":"x","value":"Bearer [redacted]"}]}]}}`, "< " + opened(1, sessionA),
			`> {"id":2,"method":"session/prompt","params":{"sessionId":"` + sessionA + `","prompt":[{"type":"image","data":"[blob: 70000 bytes, sha256 ab, image/png]"}]}}`, "< " + done(2),
			`> {"id":3,"method":"session/prompt","params":{"sessionId":"` + sessionA + `","prompt":[{"type":"text","text":"see https://redacted@host/x"}]}}`, "< " + done(3)},
		played: []string{`> {"id":1,"method":"session/new","params":{"cwd":"/p","mcpServers":[{"headers":[{"name":"x","value":"Bearer secret"}],"url":"http://127.0.0.1:9/mcp"}]}}`, "< " + opened(1, sessionA),
			`> {"id":2,"method":"session/prompt","params":{"sessionId":"` + sessionA + `","prompt":[{"type":"image","data":"AAAA"}]}}`, "< " + done(2),
			`> {"id":3,"method":"session/prompt","params":{"sessionId":"` + sessionA + `","prompt":[{"type":"text","text":"see https://me:pw@host/x"}]}}`, "< " + done(3)},
	},
	"what is not compared": {
		recorded: []string{`> {"id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"a"}}}`, `< {"id":1,"result":{}}`,
			`> {"id":2,"method":"session/prompt","params":{"sessionId":"s","messageId":"1","prompt":[{"type":"text","text":"x","annotations":null}],"_meta":{"a":1}}}`, "< " + done(2)},
		played: []string{`> {"id":"é\u00e9","method":"initialize","params":{"clientInfo":{"name":"b"},"protocolVersion":1.0}}`, `< {"id":"é\u00e9","result":{}}`,
			`> {"id":null,"method":"session/prompt","params":{"sessionId":"s","messageId":"2","prompt":[{"text":"x","type":"text"}]}}`, `< {"jsonrpc":"2.0","id":null,"result":{"stopReason":"end_turn"}}`},
	},
	"what a JSON-RPC server says to what is none": {
		recorded: []string{"> " + initialize, "< " + hello},
		played: []string{"> junk", `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, `> {"a":1}`, `< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`,
			`> {"id":4,"method":4}`, `< {"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"Invalid Request"}}`, `> []`, `< {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`,
			`> {"id":1,"meth`, `< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`, "> ", `> {"id":5,"result":{}}`, "> " + initialize, "< " + hello},
	},
	"a batch and what it gets": {
		recorded: []string{`> [{"id":1,"method":"x"}]`, `< [{"id":1,"result":{}}]`},
		played:   []string{`> [{"method":"x","id":1}]`, `< [{"id":1,"result":{}}]`},
	},
	"the nearest, and how it differs": {
		recorded: []string{"> " + prompt(1, "s", "one"), "< " + done(1), `> {"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"two"}],"mode":"a"}}`, "< " + done(2)},
		played: []string{"> " + prompt(3, "s", "three"),
			`< {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"acp-shim replay: no recorded session/prompt is like this one; the nearest is that of line 2: prompt[0].text is \"three\" and was \"one\"",` +
				`"data":{"method":"session/prompt","line":2,"differs":[{"path":"prompt[0].text","recorded":"\"one\"","got":"\"three\""}]}}}`},
		misses: 1,
	},
	"a session that nobody knows": {
		recorded: []string{"> " + prompt(1, "s", "one"), "< " + done(1)},
		played: []string{"> " + prompt(3, "other", "one"),
			`< {"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"acp-shim replay: no recorded session/prompt is like this one; the nearest is that of line 2, in another session","data":{"method":"session/prompt","line":2}}}`},
		misses: 1,
	},
	"lenient": {
		recorded: []string{"> " + prompt(1, "s", "one"), "< " + chunk("s", "1"), "< " + done(1), "> " + prompt(2, "s", "two"), "< " + chunk("s", "2"), "< " + done(2)},
		played: []string{"> " + prompt(3, "other", "?"), "< " + chunk("other", "1"), "< " + done(3), "> " + prompt(4, "other", "one"), "< " + chunk("other", "1"), "< " + done(4),
			"> " + prompt(5, "other", "??"), "< " + chunk("other", "2"), "< " + done(5)},
		options: Options{Lenient: true},
	},
	"the agent speaks first, and says what is no message": {
		recorded: []string{`< {"jsonrpc":"2.0","method":"_early"}`, "> " + initialize, `< "noise"`, "< " + hello},
		played:   []string{`< {"jsonrpc":"2.0","method":"_early"}`, "> " + initialize, `< "noise"`, "< " + hello},
	},
}

const noList = `{"jsonrpc":"2.0","id":9,"error":{"code":-32601,"message":"acp-shim replay: no session/list was recorded, but `

func TestPlays(t *testing.T) {
	for name, x := range plays {
		t.Run(name, func(t *testing.T) {
			x.options.Missed = func(Miss) {}
			p := parse(t, capture(x.recorded...), x.options).Agent()
			conversation(t, p, wireOf(x.played...))
			if p.Misses() != x.misses {
				t.Errorf("%d misses, want %d", p.Misses(), x.misses)
			}
		})
	}
}

// TestHandedOver: what is played is the recorded line, to its last byte, where
// nothing has to be another.
func TestHandedOver(t *testing.T) {
	odd := `  { "result" : {"a":1.0e2,"é":"\u00e9\/"} , "id" : 1 }  ` + "\r\n"
	b := capture(`> {"id":1,"method":"x"}`)
	b = append(b, `{"seq":2,"t":2,"from":"agent#1","to":"client","pre":"  ","frame":`+strings.TrimSpace(odd)+`,"post":"  \r\n"}`+"\n"...)
	b = append(b, `{"seq":3,"t":3,"from":"agent#1","to":"client","base64":"/wA="}`+"\n"...)
	conversation(t, parse(t, b, Options{}).Agent(), []recorded{{true, `{"id":1,"method":"x"}` + "\n"}, {false, odd}, {false, "\xff\x00\n"}})
}

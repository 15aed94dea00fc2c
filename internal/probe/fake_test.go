package probe

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// fake is an agent that does one thing wrong. answers are methods, each with the
// result or error that it is answered with.
func fake(mode string, answers ...string) int {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	switch mode {
	case "garbage":
		fmt.Println("Welcome! \x1b[31mThis is a shell.")
		fmt.Println("$ ")
	case "dies":
		fmt.Fprintln(os.Stderr, "error while loading shared libraries: libnone.so", strings.Join(answers, " "))
		return 3
	case "orphan-itself":
		fmt.Println("here")
		time.Sleep(time.Hour)
	case "sleeper":
		time.Sleep(time.Hour)
	case "slow-once":
		mark := filepath.Join(os.Getenv("GEMINI_HOME"), "started")
		if _, err := os.Stat(mark); err != nil && os.WriteFile(mark, nil, 0o600) == nil {
			time.Sleep(coldLimit + 50*time.Millisecond)
		}
	}
	f := &fakeAgent{mode: mode, answers: map[string]string{}}
	for i := 0; i+1 < len(answers); i += 2 {
		f.answers[answers[i]] = answers[i+1]
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return f.eof()
		}
		if bytes.HasSuffix(line, []byte("\r\n")) && mode == "no-crlf" || mode == "grumbles" && !gjson.ValidBytes(line) {
			code := map[string]int{"no-crlf": -32700, "grumbles": -32603}[mode]
			say(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":"what?"}}`, code)
			continue
		}
		if mode == "strict" && !gjson.ValidBytes(line) {
			fmt.Fprintln(os.Stderr, "SyntaxError: Unexpected end of JSON input")
			return 1
		}
		if gjson.ValidBytes(line) {
			f.take(gjson.ParseBytes(line))
		}
	}
}

type fakeAgent struct {
	mode    string
	answers map[string]string
	n       int
	cwd     string
	// waiting is what the answer to the request that is open lets happen.
	waiting func(answer gjson.Result)
	// open is the id of a prompt that is answered when it is cancelled, and goesOn
	// is set from then on.
	open    string
	goesOn  bool
	prompts int
}

func (f *fakeAgent) eof() int {
	if f.mode == "orphan" {
		orphan()
	}
	if f.mode == "sulks" {
		return 4
	}
	return 0
}

// orphan starts a child that outlives its parent, by the words before its own;
// whoever looks for its mark finds it.
func orphan(by ...string) {
	exe, err := os.Executable()
	if err == nil {
		argv := append(by, exe, "fake", "orphan-itself")
		cmd := exec.Command(argv[0], argv[1:]...)
		var r, w *os.File
		if r, w, err = os.Pipe(); err == nil {
			cmd.Stdout = w
			// What is killed before it is in its own session leaves nothing behind.
			if err = cmd.Start(); err == nil {
				_, err = r.Read(make([]byte, 1))
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (f *fakeAgent) take(m gjson.Result) {
	id, method := m.Get("id").Raw, m.Get("method").Str
	if method == "" && id != "" && f.waiting != nil {
		next := f.waiting
		f.waiting = nil
		next(m)
		return
	}
	if method == "session/cancel" && id == "" && f.open != "" {
		say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"cancelled"}}`, f.open)
		f.open, f.goesOn = "", true
	}
	if id == "" || method == "" {
		return
	}
	if cwd := m.Get("params.cwd").Str; cwd != "" {
		f.cwd = cwd
	}
	f.n++
	body, known := f.answers[method]
	switch {
	case f.mode == "numbers-only" && id[0] == '"':
	case f.mode == "picky" && m.Get("params.protocolVersion").Int() == 99:
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no such version"}}`, id)
	case f.mode == "tells" && len(m.Get("params.mcpServers").Array()) > 0:
		fmt.Fprintln(os.Stderr, "headers", m.Get("params.mcpServers").Raw)
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, id, m.Get("params.mcpServers.0.headers.0.value").Str)
	case f.mode == "no-mcp" && len(m.Get("params.mcpServers").Array()) > 0:
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no servers here"}}`, id)
	case known:
		say(`{"jsonrpc":"2.0","id":%s,%s}`, id, body)
	case method == "initialize":
		if f.mode == "silent" || f.mode == "garbage" {
			return
		}
		if f.mode == "refuses" {
			say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not today"}}`, id)
			return
		}
		say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentInfo":{"name":"fake\u001b[31m","version":"0"}}}`, id)
	case f.mode == "mute":
	case f.mode == "dies-later":
		os.Exit(9)
	case f.mode == "floods":
		for {
			say(`{"jsonrpc":"2.0","method":"session/update","params":{"update":{"text":"%s"}}}`, strings.Repeat("x", 1<<16))
		}
	case method == "session/new":
		if f.mode == "orphan-session" {
			orphan("setsid", "--fork")
		}
		if f.mode == "noisy" {
			say("DEBUG: a session\x1b[2J was opened")
			say(`{"jsonrpc":"2.0","id":77,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/etc/passwd"}}`)
		}
		say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s%d"}}`, id, f.n)
		if f.mode == "plan" {
			say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s%d","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"plan"}]}}}`, f.n)
		}
	case method == "session/prompt":
		f.prompt(id, m.Get("params.sessionId").Str)
	case f.mode == "accepts":
		say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	default:
		if f.mode == "spoils-ids" {
			// As a peer does that keeps ids as floating point numbers.
			var v float64
			if json.Unmarshal([]byte(id), &v) == nil {
				id = fmt.Sprint(v)
			}
		}
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, id)
	}
}

func (f *fakeAgent) prompt(id, session string) {
	update := func(kind, more string) {
		say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%q,"update":{"sessionUpdate":%q,%s}}}`, session, kind, more)
	}
	end := func() { say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, id) }
	ask := func(method, params string, then func(gjson.Result)) {
		f.waiting = then
		say(`{"jsonrpc":"2.0","id":5,"method":%q,"params":{"sessionId":%q,%s}}`, method, session, params)
	}
	const options = `"toolCall":{"toolCallId":"c1"},"options":[{"optionId":"o1","name":"Yes","kind":%q},{"optionId":"o2","name":"No","kind":"reject_once"}]`
	switch f.mode {
	case "goes-on":
		text := map[bool]string{true: "PAPAYA", false: "OK"}[f.goesOn]
		if f.goesOn {
			update("agent_message_chunk", `"content":{"type":"text","text":"418\n"}`)
		} else if f.prompts++; f.prompts == 2 {
			update("agent_message_chunk", `"content":{"type":"text","text":"1\n"}`)
			f.open = id
			return
		}
		update("agent_message_chunk", fmt.Sprintf(`"content":{"type":"text","text":%q}`, text))
	case "same-ids":
		update("tool_call", `"toolCallId":"call_1","kind":"execute","status":"in_progress"`)
		if f.prompts++; f.prompts == 2 {
			f.open = id
			return
		}
		update("tool_call_update", `"toolCallId":"call_1","status":"completed"`)
	case "second":
		update("agent_message_chunk", `"content":{"type":"text","text":"SECOND ANSWER"}`)
	case "one-turn":
		update("agent_message_chunk", `"content":{"type":"text","text":"1\n"}`)
		if f.prompts++; f.prompts > 1 {
			return
		}
	case "no-stop":
		ask("session/request_permission", fmt.Sprintf(options, "allow_once"), func(gjson.Result) {
			say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
		})
		return
	case "stray":
		update("tool_call_update", `"toolCallId":"call_1","kind":"edit","status":"completed"`)
	case "lies":
		update("tool_call", `"toolCallId":"call_1","title":"edit","kind":"edit","status":"completed","rawInput":{"a":1},"locations":[{"path":"/x"}],"content":[{"type":"diff","path":"/x","newText":"y"}]`)
	case "drops":
		for i := 1; i <= 60; i++ {
			if i != 30 {
				update("agent_message_chunk", fmt.Sprintf(`"content":{"type":"text","text":"%d\n"}`, i))
			}
		}
	case "dumb":
	case "shared":
		update("agent_message_chunk", `"content":{"type":"text","text":"Nothing was shared that could be rendered; no blueprint."}`)
	case "serial":
		// It does not read on while its question is open.
		if f.waiting == nil {
			ask("session/request_permission", fmt.Sprintf(options, "allow_once"), func(gjson.Result) { end() })
		}
		return
	case "odd-kind":
		ask("session/request_permission", fmt.Sprintf(options, "perhaps"), func(gjson.Result) { end() })
		return
	case "no-options":
		ask("session/request_permission", `"toolCall":{"toolCallId":"c1"},"options":[]`, func(gjson.Result) { end() })
		return
	case "disobeys":
		ask("session/request_permission", fmt.Sprintf(options, "allow_once"), func(gjson.Result) {
			if err := os.WriteFile(filepath.Join(f.cwd, "PROBE-DENIED"), nil, 0o600); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			end()
		})
		return
	case "relative":
		ask("fs/read_text_file", `"path":"PROBE-READ.txt"`, func(gjson.Result) { end() })
		return
	case "keeps-terminal":
		ask("terminal/create", `"command":"echo","args":["probe-terminal"]`, func(gjson.Result) { end() })
		return
	case "other-command":
		ask("terminal/create", `"command":"rm","args":["-rf","probe-terminal"]`, func(a gjson.Result) {
			update("agent_message_chunk", `"content":{"type":"text","text":"x"}`)
			if a.Get("error").Exists() {
				end()
			}
		})
		return
	case "late":
		say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, id)
		update("agent_message_chunk", `"content":{"type":"text","text":"58 59 60"}`)
		return
	case "repeats":
		update("agent_message_chunk", `"content":{"type":"text","text":"57\n58\n59\n"}`)
		update("agent_message_chunk", `"content":{"type":"text","text":"57\n58\n59\n60"}`)
	case "open-tool":
		update("tool_call", `"toolCallId":"call_1","title":"edit","kind":"edit","status":"pending"`)
	default:
		update("agent_message_chunk", `"content":{"type":"text","text":"Whatever you say."}`)
	}
	say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}`, id)
}

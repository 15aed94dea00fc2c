package probe

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// fake is an agent that does one thing wrong.
func fake(mode string) int {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	switch mode {
	case "garbage":
		fmt.Println("Welcome! \x1b[31mThis is a shell.")
		fmt.Println("$ ")
	case "dies":
		fmt.Fprintln(os.Stderr, "error while loading shared libraries: libnone.so")
		return 3
	case "sleeper":
		time.Sleep(time.Hour)
	case "slow-once":
		mark := filepath.Join(os.Getenv("GEMINI_HOME"), "started")
		if _, err := os.Stat(mark); err != nil && os.WriteFile(mark, nil, 0o600) == nil {
			time.Sleep(coldLimit + 50*time.Millisecond)
		}
	}
	f := &fakeAgent{mode: mode}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return f.eof()
		}
		if gjson.ValidBytes(line) {
			f.take(gjson.ParseBytes(line))
		}
	}
}

type fakeAgent struct {
	mode string
	n    int
}

func (f *fakeAgent) eof() int {
	if f.mode == "orphan" {
		// A child that outlives its parent; whoever looks for its mark finds it.
		exe, err := os.Executable()
		if err == nil {
			err = exec.Command(exe, "fake", "sleeper").Start()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	if f.mode == "sulks" {
		return 4
	}
	return 0
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (f *fakeAgent) take(m gjson.Result) {
	id, method := m.Get("id").Raw, m.Get("method").Str
	if id == "" || method == "" {
		return
	}
	f.n++
	switch {
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
		if f.mode == "noisy" {
			say("DEBUG: a session\x1b[2J was opened")
			say(`{"jsonrpc":"2.0","id":77,"method":"fs/read_text_file","params":{"sessionId":"s1","path":"/etc/passwd"}}`)
		}
		say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"s%d"}}`, id, f.n)
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
	switch f.mode {
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

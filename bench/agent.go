package main

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// The agent answers what it is asked as fast as it can: a _ping of about 220 bytes
// with as many. What a prompt's text says is what it does:
//
//	stream N     N chunks of 200 bytes, each in a write of its own, then the answer
//	batched N    N chunks of 300 bytes, as many in a write as go in 64 KiB
//	large N      one chunk of N bytes
const session = "4d5a6c89-0be5-4d98-ac4d-dede75c780fe"

// sessionOf is the session of a working directory: four digits, or none.
func sessionOf(digits string) string { return session[:len(session)-len(digits)] + digits }

// speaks is the session whose turn runs.
var speaks = session

func agentMain() {
	// How its ends came into being must make no difference to it: a Go program is
	// slow on a pipe that blocks.
	os.Stdin, os.Stdout = reopen(0, syscall.O_RDONLY, ofPipe), reopen(1, syscall.O_WRONLY, ofPipe)
	r := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		id := field(line, `"id":`)
		switch {
		case bytes.Contains(line, []byte(`"initialize"`)):
			say(id, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"antigravity-acp","version":"bench"}}`)
		case bytes.Contains(line, []byte(`"session/new"`)):
			cwd := field(line, `"cwd":`)
			say(id, `{"sessionId":"`+sessionOf(strings.Trim(cwd, `"/`))+`"}`)
		case bytes.Contains(line, []byte(`"_ping"`)):
			say(id, `{"answer":"`+strings.Repeat("y", 150)+`"}`)
		case bytes.Contains(line, []byte(`"session/prompt"`)):
			speaks = strings.Trim(field(line, `"sessionId":`), `"`)
			word, arg, _ := strings.Cut(text(line), " ")
			n, _ := strconv.Atoi(arg)
			turn(word, n)
			say(id, `{"stopReason":"end_turn"}`)
		}
	}
}

func say(id, result string) {
	os.Stdout.WriteString(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + "}\n")
}

// field is a member's text in a frame that this program has made itself.
func field(line []byte, name string) string {
	i := bytes.Index(line, []byte(name))
	if i < 0 {
		return "null"
	}
	rest := line[i+len(name):]
	return string(rest[:bytes.IndexAny(rest, ",}")])
}

func text(line []byte) string {
	i := bytes.Index(line, []byte(`"text":"`))
	rest := line[i+len(`"text":"`):]
	return string(rest[:bytes.IndexByte(rest, '"')])
}

// chunk is a frame of size bytes, its line end included.
func chunk(size int) []byte {
	head := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + speaks + `","update":{"content":{"text":"`
	tail := `","type":"text"},"sessionUpdate":"agent_message_chunk"}}}` + "\n"
	return []byte(head + strings.Repeat("x", max(1, size-len(head)-len(tail))) + tail)
}

func turn(word string, n int) {
	switch word {
	case "stream":
		c := chunk(230)
		for range n {
			os.Stdout.Write(c)
		}
	case "batched":
		c := chunk(300)
		block := bytes.Repeat(c, 64<<10/len(c))
		for n > 0 {
			k := min(n, len(block)/len(c))
			os.Stdout.Write(block[:k*len(c)])
			n -= k
		}
	case "large":
		os.Stdout.Write(chunk(n))
	}
}

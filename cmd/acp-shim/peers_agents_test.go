//go:build linux

package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"
)

func init() { plays["hostile"] = hostile }

// hostile is an agent that does what no agent should. The first word says what
// that is; a puppet does what the client's frames tell it to.
func hostile(args []string) int {
	switch args[0] {
	case "deaf": // takes nothing
		signal.Ignore(syscall.SIGTERM)
		for {
			time.Sleep(time.Hour)
		}
	case "greedy": // once it was asked it asks on and on, and takes no answer
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		out := bufio.NewWriter(os.Stdout)
		for i := range 400 {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"_asked","params":{}}`+"\n", i)
		}
		out.Flush()
		for {
			time.Sleep(time.Hour)
		}
	case "dies":
		fmt.Fprintln(os.Stderr, "hostile: this machine is not good enough")
		return 3
	case "mute": // has no output any more, and lives
		os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		for {
			time.Sleep(time.Hour)
		}
	case "clings": // does not end, and what it has started has its pipes
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		tool := exec.Command("sleep", "1000")
		tool.Stdin, tool.Stdout, tool.Stderr = os.Stdin, os.Stdout, os.Stderr
		tool.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := tool.Start(); err != nil {
			return 1
		}
		newPuppet().run()
		for {
			time.Sleep(time.Hour)
		}
	}
	p := newPuppet()
	p.run()
	p.release()
	return 0
}

// puppet answers every request, but for those that say otherwise.
type puppet struct {
	held    []string
	frames  int
	answers map[string]int // that came of the client, by id
	sum     hash.Hash
}

func newPuppet() *puppet { return &puppet{answers: map[string]int{}, sum: sha256.New()} }

func (p *puppet) run() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			p.line(line)
		}
		if err != nil {
			return
		}
	}
}

func (p *puppet) line(line []byte) {
	f := gjson.ParseBytes(line)
	method, id := f.Get("method").Str, f.Get("id").Raw
	params := f.Get("params")
	n := int(params.Get("n").Int())
	if method == "_sum" {
		p.answer(id, fmt.Sprintf(`{"frames":%d,"sha":"%x","answers":%d,"ids":%d}`, p.frames, p.sum.Sum(nil), p.total(), len(p.answers)))
		return
	}
	p.frames++
	p.sum.Write(line)
	switch method {
	case "":
		if id != "" {
			p.answers[id]++
		}
	case "initialize":
		p.answer(id, `{"protocolVersion":1,"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"antigravity-acp","version":"hostile"}}`)
	case "session/new":
		p.answer(id, fmt.Sprintf(`{"sessionId":"s%d"}`, p.frames))
	case "session/prompt":
		p.answer(id, `{"stopReason":"end_turn"}`)
	case "session/load":
		flood(os.Stdout, n, 300)
		p.answer(id, `{}`)
	case "_held":
		p.held = append(p.held, id)
	case "_release":
		p.release()
	case "_never":
	case "_twice":
		p.answer(id, `{"time":1}`)
		p.answer(id, `{"time":2}`)
	case "_raw":
		b, _ := base64.StdEncoding.DecodeString(params.Get("b").Str)
		os.Stdout.Write(b)
	case "_drip":
		b, _ := base64.StdEncoding.DecodeString(params.Get("b").Str)
		for i := range b {
			os.Stdout.Write(b[i : i+1])
			time.Sleep(time.Millisecond)
		}
	case "_flood":
		flood(os.Stdout, n, int(params.Get("size").Int()))
	case "_mix":
		os.Stdout.Write(mix("_n", n))
	case "_repeat":
		b, _ := base64.StdEncoding.DecodeString(params.Get("b").Str)
		out := bufio.NewWriterSize(os.Stdout, 64<<10)
		for range n {
			out.Write(b)
		}
		out.Flush()
	case "_ask":
		var b bytes.Buffer
		for i := range n {
			fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"_asked","params":{}}`+"\n", i)
		}
		os.Stdout.Write(b.Bytes())
	case "_stderr":
		b := []byte(strings.Repeat("e", 999) + "\n")
		for range n {
			os.Stderr.Write(b)
		}
		p.answer(id, `{}`)
	case "_deafen":
		os.Stdin.Close()
		flood(os.Stdout, n, 300)
		for {
			time.Sleep(time.Hour)
		}
	case "_exit":
		os.Exit(n)
	default:
		if id != "" {
			p.answer(id, `{"did":"`+method+`"}`)
		}
	}
}

func (p *puppet) total() (n int) {
	for _, k := range p.answers {
		n += k
	}
	return n
}

func (p *puppet) answer(id, result string) {
	os.Stdout.WriteString(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + "}\n")
}

// release answers what is held, in any order.
func (p *puppet) release() {
	rand.Shuffle(len(p.held), func(i, j int) { p.held[i], p.held[j] = p.held[j], p.held[i] })
	for _, id := range p.held {
		p.answer(id, `{"did":"_held"}`)
	}
	p.held = nil
}

// flood writes numbered frames as fast as they are taken.
func flood(w io.Writer, n, size int) {
	out := bufio.NewWriterSize(w, 64<<10)
	pad := strings.Repeat("x", max(1, size-60))
	for i := range n {
		fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"_n","params":{"n":%d,"x":"%s"}}`+"\n", i, pad)
	}
	out.Flush()
}

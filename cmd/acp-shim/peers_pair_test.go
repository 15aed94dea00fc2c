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
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tidwall/gjson"
)

// pair is a client and, behind the shim, a hostile agent. What the client writes
// and reads is counted, not kept.
type pair struct {
	*stage
	row     *peerRow
	agy     bool
	capture string // "" where none is written
	cmd     *exec.Cmd
	in      *os.File
	exited  chan struct{}
	errEnd  chan struct{}
	dog     *time.Timer

	writing sync.Mutex
	sent    hash.Hash // what the client has written

	reading sync.Mutex // held while the client does not read
	out     *os.File

	mu      sync.Mutex
	changed chan struct{}
	got     hash.Hash // what the client has read
	lines   int
	due     map[string]int    // answers that are to come, by the request's id
	missing int               // how many those are
	last    map[string]string // the answer to it
	stray   []string          // answers to nothing
	other   func(frame gjson.Result)
	mute    bool // the agent's requests are not answered
	ended   bool // the output
	expired bool
	stderr  bytes.Buffer
	errs    int
	peak    int // KiB
	inexact bool
	doubles bool // the agent may answer twice
}

func (s *stage) pair(row *peerRow, agy, recorded bool) *pair {
	t := s.t
	t.Helper()
	script := filepath.Join(s.home, "bin", "hostile")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec "+s.shim+` hostile "$@"`+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := &pair{stage: s, row: row, agy: agy, exited: make(chan struct{}), errEnd: make(chan struct{}), changed: make(chan struct{}),
		sent: sha256.New(), got: sha256.New(), due: map[string]int{}, last: map[string]string{}}
	argv := append([]string{"--profile=none"}, row.flags...)
	if agy {
		argv[0] = "--profile=agy"
	}
	if recorded {
		p.capture = filepath.Join(s.home, "capture.jsonl")
		argv = append(argv, "--record="+p.capture, "--record-raw", "--record-max-blob=0")
	}
	argv = append(append(argv, "--", script), strings.Fields(row.agent)...)
	p.cmd = exec.Command(s.shim, argv...)
	p.cmd.Dir, p.cmd.Env = s.cwd, append(s.env, "GOTRACEBACK=all")
	var ends [3]*os.File
	for i, end := range []**os.File{&p.in, &p.out, nil} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		switch i {
		case 0:
			ends[i], *end = r, w
		case 1:
			ends[i], *end = w, r
		case 2:
			ends[i] = w
			go p.readErr(r)
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = ends[0], ends[1], ends[2]
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range ends {
		f.Close()
	}
	go p.read()
	go func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // how it ended is asked of ProcessState
		p.note(func() {})
	}()
	go p.weigh()
	p.dog = time.AfterFunc(slowly(row.limit()), p.bite)
	t.Cleanup(p.clean)
	return p
}

// bite is what happens when a row goes on for too long: where everybody waits is
// in the log then.
func (p *pair) bite() {
	p.note(func() { p.expired = true })
	_ = p.cmd.Process.Signal(syscall.SIGABRT)
	if p.reading.TryLock() {
		p.reading.Unlock()
	}
}

func (p *pair) clean() {
	p.dog.Stop()
	p.in.Close()
	if p.expired {
		select { // what it says of where everybody waits
		case <-p.exited:
		case <-time.After(patience):
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
	<-p.errEnd
	p.out.Close()
	if p.t.Failed() {
		p.t.Logf("stderr:\n%s", p.errText())
	}
}

func (p *pair) errText() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func (p *pair) note(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *pair) readErr(r *os.File) {
	defer close(p.errEnd)
	defer r.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := r.Read(b)
		p.note(func() {
			p.errs += n
			if p.stderr.Len() < 256<<10 {
				p.stderr.Write(b[:n])
			}
		})
		if err != nil {
			return
		}
	}
}

// weigh keeps the most memory that the shim has had.
func (p *pair) weigh() {
	for {
		if kib := memory(p.cmd.Process.Pid, "VmHWM:"); kib > 0 {
			p.mu.Lock()
			p.peak = max(p.peak, kib)
			p.mu.Unlock()
		}
		select {
		case <-p.exited:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// memory is a line of /proc/PID/status in KiB, 0 where there is none.
func memory(pid int, name string) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(b), name)
	rest, _, _ = strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.Atoi(rest)
	return n
}

func (p *pair) Read(b []byte) (int, error) {
	p.reading.Lock() // as long as the client does not read
	out := p.out
	p.reading.Unlock()
	return out.Read(b)
}

func (p *pair) read() {
	in := bufio.NewReaderSize(p, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			p.line(line)
		}
		if err != nil {
			p.note(func() { p.ended = true })
			return
		}
	}
}

func (p *pair) line(line []byte) {
	f := gjson.ParseBytes(line)
	method, id := f.Get("method").Str, f.Get("id").Raw
	answer := ""
	p.note(func() {
		p.got.Write(line)
		p.lines++
		switch {
		case method == "" && id != "" && p.due[id] > 0:
			p.due[id]--
			p.missing--
			p.last[id] = string(line[:min(len(line), 1000)])
		case method == "" && id != "" || f.Get("error").Exists():
			p.stray = append(p.stray, string(line[:min(len(line), 200)]))
		case method != "" && id != "" && !p.mute:
			answer = `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n"
		}
		if p.other != nil {
			p.other(f)
		}
	})
	if answer != "" {
		p.write(answer)
	}
}

// write is not held to be well: a shim that has ended takes nothing.
func (p *pair) write(text string) bool {
	p.writing.Lock()
	defer p.writing.Unlock()
	n, err := io.WriteString(p.in, text)
	p.sent.Write([]byte(text)[:n])
	return err == nil
}

// ask sends a request, whose answer is due from then on. The id is JSON text.
func (p *pair) ask(id, method, params string) {
	p.expect(id)
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params))
}

// expect says that a request with this id will have been sent.
func (p *pair) expect(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due[id]++
	p.missing++
}

func (p *pair) tell(method, params string) {
	p.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method, params))
}

// raw has the agent write these bytes; how says how.
func (p *pair) raw(how, text string) {
	p.tell(how, fmt.Sprintf(`{"b":%q}`, encoded(text)))
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// until waits for what must become true.
func (p *pair) until(what string, is func() bool) {
	p.t.Helper()
	for {
		p.mu.Lock()
		ok, over, expired, changed := is(), p.ended, p.expired, p.changed
		p.mu.Unlock()
		switch {
		case ok:
			return
		case expired:
			p.t.Fatalf("%s: did not happen within %v", what, p.row.limit())
		case over:
			p.t.Fatalf("%s: did not happen before the output ended", what)
		}
		<-changed
	}
}

// answered waits for all that is due.
func (p *pair) answered() {
	p.t.Helper()
	p.until("every request has its answer", func() bool { return p.missing == 0 })
}

// call is a request and its answer.
func (p *pair) call(id, method, params string) gjson.Result {
	p.t.Helper()
	p.ask(id, method, params)
	p.until("the answer to "+method, func() bool { return p.due[id] == 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	return gjson.Parse(p.last[id])
}

// hello is how a connection begins.
func (p *pair) hello() {
	p.t.Helper()
	if r := p.call(`"hello"`, "initialize", `{"protocolVersion":1}`); !r.Get("result").Exists() {
		p.t.Fatalf("initialize: %s", r.Raw)
	}
}

// logged adds up a figure over the lines of the shim's log that say something.
func (p *pair) logged(what, figure string) (n int) {
	b, _ := os.ReadFile(filepath.Join(p.home, ".local", "state", "acp-shim", "logs", "acp-shim.log"))
	for line := range strings.Lines(string(b)) {
		if _, rest, ok := strings.Cut(line, figure); ok && strings.Contains(line, what) {
			k := 0
			fmt.Sscan(rest, &k)
			n += k
		}
	}
	return n
}

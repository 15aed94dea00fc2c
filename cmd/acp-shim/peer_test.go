package main

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// peer is a program that a script talks with.
type peer struct {
	ts     *testscript.TestScript
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	said   []string
	stderr transcript
	exited chan error
}

func startPeer(ts *testscript.TestScript, argv []string) *peer {
	path, err := exec.LookPath(argv[0])
	if p, lookErr := lookIn(ts.Getenv("PATH"), argv[0]); lookErr == nil {
		path, err = p, nil
	}
	ts.Check(err)
	p := &peer{ts: ts, cmd: exec.Command(path, argv[1:]...), lines: make(chan string, 1000), exited: make(chan error, 1)}
	p.cmd.Args[0] = argv[0]
	p.cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "GEMINI_HOME", "GORACE", playsMain} {
		if v := ts.Getenv(name); v != "" {
			p.cmd.Env = append(p.cmd.Env, name+"="+v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, strings.Fields(ts.Getenv("VARS"))...)
	p.cmd.Stderr = &p.stderr
	p.in, err = p.cmd.StdinPipe()
	ts.Check(err)
	out, err := p.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(p.cmd.Start())
	go func() {
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			if line != "" {
				p.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				close(p.lines)
				p.exited <- p.cmd.Wait()
				return
			}
		}
	}()
	return p
}

// transcript is a text that grows while it is read.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(b)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// awaitStderr waits for a text on stderr.
func (p *peer) awaitStderr(text string) {
	limit := time.After(15 * time.Second)
	for !strings.Contains(p.stderr.String(), text) {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-limit:
			p.ts.Fatalf("stderr does not say %q:\n%s", text, p.stderr.String())
		}
	}
}

func lookIn(path, name string) (string, error) {
	for _, dir := range strings.Split(path, ":") {
		if p, err := exec.LookPath(dir + "/" + name); err == nil {
			return p, nil
		}
	}
	return "", exec.ErrNotFound
}

// await reads on to a line that has all the words in it.
func (p *peer) await(words []string) string {
	limit := time.After(15 * time.Second)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.ts.Fatalf("it ended without saying %q; it said\n%s\nand on stderr\n%s", words, strings.Join(p.said, "\n"), p.stderr.String())
			}
			p.said = append(p.said, line)
			if all(line, words) {
				return line
			}
		case <-limit:
			p.ts.Fatalf("it did not say %q; it said\n%s\nand on stderr\n%s", words, strings.Join(p.said, "\n"), p.stderr.String())
		}
	}
}

func all(line string, words []string) bool {
	for _, w := range words {
		if not, ok := strings.CutPrefix(w, "!"); ok && strings.Contains(line, not) || !ok && !strings.Contains(line, w) {
			return false
		}
	}
	return true
}

func (p *peer) wait(limit time.Duration) error {
	for {
		select {
		case _, ok := <-p.lines:
			if !ok {
				p.lines = nil
			}
		case err := <-p.exited:
			p.exited <- err
			return err
		case <-time.After(limit):
			return errors.New("it is still there")
		}
	}
}

func (p *peer) end() {
	p.in.Close()
	if p.wait(3*time.Second) != nil {
		p.cmd.Process.Kill()
		<-p.exited
	}
}

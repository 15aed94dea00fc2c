package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"acp-shim/proxy"
	"acp-shim/record"
)

// step is a moment of a conversation.
type step struct {
	name  string
	flags []string // of the shim
	sim   []string
	// reach brings the conversation there.
	reach func(f *faulty)
}

func steps() []step {
	begin := func(f *faulty) {
		f.awaitLog("the agent")
		f.asked[f.request("initialize", `{"protocolVersion":1}`)] = "initialize"
		eventually(f.t, func() bool { return len(f.stage.alive()) > 1 })
	}
	turn := func(f *faulty) {
		f.ask("initialize", `{"protocolVersion":1}`)
		made, _ := f.ask("session/new", `{"cwd":"/","mcpServers":[]}`)
		f.session = made.Get("result.sessionId").Str
		f.asked[f.request("session/prompt", prompting(f.session, "stream 60 every 5ms"))] = "session/prompt"
		f.must(0, "a chunk", isUpdate("agent_message_chunk"))
	}
	cancel := func(f *faulty) {
		turn(f)
		f.notify("session/cancel", fmt.Sprintf(`{"sessionId":%q}`, f.session))
		// It is answered behind the cancel, so that this has arrived.
		f.asked[f.request("session/list", `{}`)] = "session/list"
		f.must(0, "the list", isAnswer(len(f.asked)-1))
	}
	return []step{
		{"before initialize", nil, nil, func(f *faulty) { f.awaitLog("the agent") }},
		{"while the agent starts", nil, []string{"--start-delay", "300ms"}, begin},
		{"during a turn", nil, nil, turn},
		{"during a cancel", []string{"--cancel-grace=400ms"}, []string{"--cancel", "ignore"}, cancel},
		{"during a restore", []string{"--cancel-grace=1ms"}, []string{"--cancel", "ignore", "--start-delay", "200ms"}, func(f *faulty) {
			cancel(f)
			f.must(0, "the end of the turn", isAnswer(2))
			f.asked[f.request("session/prompt", prompting(f.session, "stream 3"))] = "session/prompt"
		}},
		{"during the end", nil, []string{"--eof", "late=300ms"}, func(f *faulty) {
			turn(f)
			f.closeInput()
		}},
	}
}

// awaitLog waits for words in the log.
func (f *faulty) awaitLog(words string) {
	for late := time.Now().Add(patience); !strings.Contains(f.logText(), words); time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			f.t.Fatalf("the log never has %q", words)
		}
	}
}

// TestSignalsAtEachStep: a signal that ends the shim ends all that it has started within
// a second, wherever the conversation is, and leaves a capture that can be read; where it
// is one to end by, what was asked is answered. Others change nothing.
func TestSignalsAtEachStep(t *testing.T) {
	for _, at := range steps() {
		for _, row := range []struct {
			name    string
			signals []syscall.Signal
			code    int  // the exit code; -1: the signal is the end
			orderly bool // what was asked is answered
		}{
			{"SIGTERM", []syscall.Signal{syscall.SIGTERM}, 143, true},
			{"SIGHUP", []syscall.Signal{syscall.SIGHUP}, 129, true},
			{"SIGTERM twice", []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 143, true},
			{"SIGTERM, then SIGKILL", []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}, -1, false},
			{"SIGKILL", []syscall.Signal{syscall.SIGKILL}, -1, false},
			{"SIGINT", []syscall.Signal{syscall.SIGINT, syscall.SIGINT}, 0, true},
			{"SIGPIPE, SIGWINCH, SIGUSR1", []syscall.Signal{syscall.SIGPIPE, syscall.SIGWINCH, syscall.SIGUSR1}, 0, true},
			{"SIGSTOP, SIGCONT", []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT}, 0, true},
		} {
			if row.code == 0 && unhurried > 1 {
				continue // that nothing changes is no race
			}
			t.Run(at.name+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				f := &faulty{t: t, asked: map[int]string{}, hit: row.name}
				capture := filepath.Join(s.home, "c.jsonl")
				argv := append(append([]string{s.shim, "--profile=agy", "--record=" + capture}, at.flags...), "--")
				f.editor = s.start(append(argv, s.sim("1.1.1", at.sim...)...))
				at.reach(f)
				for _, sig := range row.signals {
					if err := f.cmd.Process.Signal(sig); err != nil && err != os.ErrProcessDone {
						t.Fatal(err)
					}
				}
				if row.code == 0 {
					f.closeInput()
				}
				sent := time.Now()
				if row.code != 0 {
					s.endsWithin(unhurried*time.Second, sent)
				}
				end := f.wait()
				// Two signals of one kind may arrive as one, and a kill as the second is in time or not.
				if code := end.ExitCode(); code != row.code && !(len(row.signals) == 2 && code == 143) {
					t.Errorf("exit code %d: %s", code, f.errText())
				}
				if row.orderly {
					f.judgeAsked()
				}
				for _, l := range f.since(0, -1) {
					if at.name == "during a restore" {
						break // what the process before it was asked has its own reason
					}
					why := l.Get("error.message").Str
					if row.orderly && row.code != 0 && strings.HasPrefix(why, "acp-shim") && !strings.Contains(why, "since a signal to acp-shim asked for it") {
						t.Errorf("the client is told %q", why)
					}
				}
				readable(t, capture, row.orderly && (row.code == 0 || at.name != "before initialize"))
			})
		}
	}
}

// judgeAsked finds one answer to each request that was made.
func (f *faulty) judgeAsked() {
	answers := map[string]int{}
	for _, l := range f.since(0, -1) {
		if !l.Get("method").Exists() {
			answers[l.Get("id").Raw]++
		}
	}
	for id, method := range f.asked {
		if n := answers[fmt.Sprint(id)]; n != 1 {
			f.t.Errorf("%s: %s (%d) has %d answers", f.hit, method, id, n)
		}
	}
}

// readable reads a capture to its end, which only an orderly end writes.
func readable(t *testing.T, path string, whole bool) {
	t.Helper()
	c, err := record.Open(path)
	if err != nil {
		if whole {
			t.Error(err)
		}
		return // it may have been killed before the first line
	}
	defer c.Close()
	var last record.Entry
	for e, err := range c.Entries() {
		if err != nil {
			t.Errorf("the capture: %v", err)
			return
		}
		last = e
	}
	if whole && last.Event != "end" {
		t.Errorf("the capture ends with %q", last.Event)
	}
}

func init() { plays["unending"] = unending }

// unending is a shim whose loop is over at once, and which then never ends.
func unending([]string) int {
	s := &shim{log: slog.New(slog.DiscardHandler), over: make(chan struct{})}
	defer s.onSignals()()
	s.loop = proxy.New(proxy.Config{In: strings.NewReader(""), Out: io.Discard, OutFD: -1, Start: func(int) (proxy.Process, error) {
		return nil, errors.New("no agent")
	}})
	s.converse()
	fmt.Println("over")
	select {}
}

// TestSignalsAfterTheLoop: what is left to end when the loop is over does not outlive a
// signal for long, and a second one not at all.
func TestSignalsAfterTheLoop(t *testing.T) {
	for _, row := range []struct {
		signals []syscall.Signal
		codes   []int
	}{
		{[]syscall.Signal{syscall.SIGTERM}, []int{143}},
		{[]syscall.Signal{syscall.SIGHUP}, []int{129}},
		{[]syscall.Signal{syscall.SIGINT, syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGTERM}, []int{129, 143}}, // whichever is seen first
	} {
		t.Run(fmt.Sprint(row.signals), func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			cmd := exec.Command(s.shim, "unending")
			cmd.Env = s.env
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			limit := time.AfterFunc(patience, func() { cmd.Process.Kill() })
			defer limit.Stop()
			if said, err := bufio.NewReader(out).ReadString('\n'); said != "over\n" {
				t.Errorf("it said %q, %v", said, err)
			}
			for _, sig := range row.signals {
				if err := cmd.Process.Signal(sig); err != nil && err != os.ErrProcessDone {
					t.Fatal(err)
				}
			}
			cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); !slices.Contains(row.codes, code) {
				t.Errorf("exit code %d", code)
			}
		})
	}
}

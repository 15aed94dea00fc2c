package main

import (
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"acp-shim/internal/faults"
)

// TestCallsThatHang: a disk that does not answer any more, as that of a server that is
// gone, holds up neither the conversation nor the end.
func TestCallsThatHang(t *testing.T) {
	if unhurried > 1 {
		t.Skip("the race detector's own calls would be met as well")
	}
	catchable(t)
	for _, row := range []struct {
		name, call, on string
		after          int // calls that do not hang: nothing can start without its disk
		starts         bool
	}{
		{"the agent's program", "execve", "/bin/acp-shim", 0, false},
		{"the capture", "write", "-acp-shim.jsonl", 0, true},
		{"the log", "write", "acp-shim.log", 0, true},
		{"what is remembered", "renameat", "/sessions/", 1, true},
		{"a file that is followed", "inotify_add_watch", "HOME", 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			args := append([]string{s.shim, "--record=" + s.home + "/captures/", "--mcp-config=" + s.mcpFile(), "--profile=agy", "--"}, s.sim("1.1.1")...)
			var hung atomic.Bool
			met := 0
			in, err := faults.New(args, []string{row.call}, func(c faults.Call) syscall.Errno {
				if strings.Contains(strings.ReplaceAll(c.On, s.home, "HOME"), row.on) {
					if met++; met > row.after {
						hung.Store(true)
						return faults.Hang
					}
				}
				return 0
			})
			if err != nil {
				t.Fatal(err)
			}
			f := &faulty{t: t, asked: map[int]string{}, hit: row.name}
			f.editor = s.start(in.Args, "GOGC=off") // Go collects nothing while an exec hangs, and waits
			if row.starts {
				f.talk()
				f.closeInput()
			} else {
				f.request("initialize", `{"protocolVersion":1}`)
				eventually(t, hung.Load)
				f.cmd.Process.Signal(syscall.SIGTERM)
			}
			asked := time.Now()
			f.wait()
			if took, limit := time.Since(asked), slowly(4*time.Second); took > limit {
				t.Errorf("the end took %v, more than %v", took, limit)
			}
			if !hung.Load() {
				t.Error("nothing was held up")
			}
			if row.starts && (len(f.asked) != 5 || len(f.errs) > 0) {
				t.Errorf("%d requests were made; errors: %q", len(f.asked), f.errs)
			}
			if _, err := in.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

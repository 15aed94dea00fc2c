package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"acp-shim/internal/agent"
	"acp-shim/internal/doctor"
)

// A process whose shim and guard are both gone is found, and ended by --fix; one
// of a run that has a guard is not.
func TestDoctorEndsOrphans(t *testing.T) {
	s := newStage(t)
	run := agent.NewRunID()
	// The shell is the shim, and ends at once.
	out, err := exec.Command("sh", "-c", `ACP_SHIM_RUN=`+run+` sleep 300 >/dev/null 2>&1 & echo $!`).Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	eventually(t, func() bool { return strings.Contains(environOf(pid), run) })
	if parentOf(pid) != 1 {
		t.Skip("something else than the first process adopts orphans here")
	}
	find := func(args ...string) string {
		cmd := exec.Command(s.shim, append([]string{"doctor", "--json"}, args...)...)
		cmd.Env = s.env
		b, _ := cmd.Output() // there is no agent, and the exit code says so
		var r struct{ Findings []doctor.Finding }
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		for _, f := range r.Findings {
			if f.Check == "orphans" && strings.Contains(f.Text, fmt.Sprintf("(pid %d)", pid)) {
				return fmt.Sprint(f.Level, " fixed=", f.Fixed)
			}
		}
		return "none"
	}
	guard, err := agent.StartGuard(run)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return guardRuns(run) })
	if got := find(); got != "none" {
		t.Errorf("while it has a guard: %s", got)
	}
	endGuard(t, guard, run)
	if got := find(); got != "warning fixed=false" {
		t.Fatalf("without one: %s", got)
	}
	if got := find("--fix"); got != "warning fixed=true" {
		t.Errorf("with --fix: %s", got)
	}
	eventually(t, func() bool { return syscall.Kill(pid, 0) != nil || stateOf(pid) == "Z" })
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal("it did not come to pass")
		}
	}
}

func environOf(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return string(b)
}

func statOf(pid, field int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(b), ") ")
	if f := strings.Fields(rest); len(f) > field {
		return f[field]
	}
	return ""
}

func stateOf(pid int) string { return statOf(pid, 0) }

func parentOf(pid int) int {
	n, _ := strconv.Atoi(statOf(pid, 1))
	return n
}

func guardPIDs(run string) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && strings.Contains(string(b), agent.GuardArg+"\x00"+run) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
}

func guardRuns(run string) bool { return len(guardPIDs(run)) > 0 }

// endGuard ends a guard as somebody would who kills all that he sees: it has no time
// to do its work.
func endGuard(t *testing.T, g *agent.Guard, run string) {
	t.Helper()
	for _, pid := range guardPIDs(run) {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	<-g.Done()
}

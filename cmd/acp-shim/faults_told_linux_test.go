package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"acp-shim/internal/faults"
)

// TestFaultsAreTold lets all calls of some kind fail, as they do on a disk that is
// full or in a process that may open nothing more. The conversation goes on wherever
// it can, and somebody is told once what could not be done: the user, on stderr, where
// something is lost or not guarded; the log otherwise; the client by an answer.
func TestFaultsAreTold(t *testing.T) {
	if unhurried > 1 {
		t.Skip("the race detector's own calls would be met as well")
	}
	within := func(parts ...string) func(string) bool {
		return func(on string) bool {
			return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(on, p) })
		}
	}
	every := within()
	for _, row := range []struct {
		what, calls string
		on          func(string) bool
		errno       syscall.Errno
		stderr, log string
		// answer is the error of the first request; "" where all are carried out.
		answer string
		code   int
	}{
		{what: "no process", calls: "clone", on: every, errno: syscall.EAGAIN, log: "no guard for now", answer: "this user has too many processes (see ulimit -u)"},
		{what: "no memory for a process", calls: "clone", on: every, errno: syscall.ENOMEM, log: "no guard for now", answer: "the system has no memory left for it"},
		{what: "no pipe", calls: "pipe2", on: every, errno: syscall.EMFILE, log: "no guard for now", answer: "its pipes could not be made: pipe2: too many open files"},
		{what: "no guard", calls: "execve", on: within("/proc/self/exe"), errno: syscall.EACCES, log: "no guard for now"},
		{what: "no session of its own", calls: "setsid", on: every, errno: syscall.EPERM, log: "no guard for now", answer: "operation not permitted"},
		{what: "no watches", calls: "inotify_init1", on: every, errno: syscall.EMFILE, log: "changed files are noticed within seconds only"},
		{what: "no watch", calls: "inotify_add_watch", on: every, errno: syscall.ENOSPC, log: "changed files are noticed within seconds only"},
		{what: "no locks", calls: "flock", on: every, errno: syscall.ENOLCK, stderr: "sessions are not locked against other shims"},
		{what: "no room for locks", calls: "openat", on: within("/sessions/", ".lock"), errno: syscall.ENOSPC, stderr: "sessions are not locked against other shims"},
		{what: "no room for what is remembered", calls: "write", on: within("/sessions/"), errno: syscall.ENOSPC, log: "a session's settings could not be kept"},
		{what: "no place for sessions", calls: "mkdirat", on: within("/sessions"), errno: syscall.EROFS, stderr: "sessions are neither remembered nor locked"},
		{what: "no place for the state", calls: "mkdirat", on: within(".local"), errno: syscall.EROFS, stderr: "sessions are neither remembered nor locked"},
		{what: "no room for the log", calls: "write", on: within("acp-shim.log"), errno: syscall.ENOSPC, stderr: "the log cannot be written"},
		{what: "no place for the log", calls: "openat", on: within("acp-shim.log"), errno: syscall.EACCES, stderr: "the log cannot be written"},
		{what: "no room for the capture", calls: "write", on: within("/captures/", "-acp-shim.jsonl"), errno: syscall.ENOSPC, stderr: "the capture is in trouble"},
		{what: "no place for the capture", calls: "openat", on: within("/captures/", "-acp-shim.jsonl"), errno: syscall.EROFS, stderr: "nothing is recorded"},
		{what: "a disk that breaks", calls: "fsync", on: within("-acp-shim.jsonl"), errno: syscall.EIO, stderr: "the capture is not complete"},
		{what: "a directory that cannot be read", calls: "openat", on: func(on string) bool { return strings.HasSuffix(on, "/captures") }, errno: syscall.EACCES, stderr: "older captures are left as they are"},
		{what: "another user's config file", calls: "openat", on: within("config.json"), errno: syscall.EACCES, stderr: "the config file is not used"},
		{what: "a config file that cannot be read", calls: "openat", on: within("config.json"), errno: syscall.EIO, stderr: "reading the config file", code: 2},
		{what: "a client that cannot be read", calls: "read", on: within("pipe at 9"), errno: syscall.EIO, stderr: "the client cannot be read any more", code: 74},
		{what: "a client that cannot be written to", calls: "write", on: within("pipe at 5"), errno: syscall.EIO, stderr: "nothing can be written to the client any more", code: 74},
		{what: "no process table", calls: "openat", on: func(on string) bool { return on == "/proc" }, errno: syscall.EACCES},
	} {
		t.Run(row.what, func(t *testing.T) {
			t.Parallel()
			f := converse(t, strings.Split(row.calls, ","), func(c faults.Call) syscall.Errno {
				if row.on(c.On) {
					return row.errno
				}
				return 0
			})
			f.judge()
			if f.hit == "" {
				t.Fatal("nothing failed")
			}
			for _, told := range []struct{ where, text, words string }{{"stderr", f.errText(), row.stderr}, {"the log", f.logText(), row.log}} {
				if n := strings.Count(told.text, told.words); told.words != "" && n != 1 && !(told.where == "the log" && n > 0) {
					t.Errorf("%s: %s has %q %d times: %s", f.hit, told.where, told.words, n, told.text)
				}
			}
			if code := f.cmd.ProcessState.ExitCode(); code != row.code {
				t.Errorf("%s: exit code %d", f.hit, code)
			}
			switch {
			case row.answer == "" && len(f.errs) > 0 || row.answer != "" && (len(f.errs) != 1 || !strings.Contains(f.errs[0], row.answer)):
				t.Errorf("%s: the answers with errors are %q", f.hit, f.errs)
			case row.answer == "" && row.code == 0 && len(f.asked) != 5:
				t.Errorf("%s: only %d requests were made", f.hit, len(f.asked))
			}
		})
	}
}

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"acp-shim/internal/faults"
)

// sweep is what the calls of a run are made to fail with.
var sweep = []struct {
	name   string
	errnos []syscall.Errno
}{
	{"openat", []syscall.Errno{syscall.EMFILE, syscall.EACCES}},
	{"mkdirat", []syscall.Errno{syscall.EROFS, syscall.ENOSPC}},
	{"renameat", []syscall.Errno{syscall.EIO}},
	{"renameat2", []syscall.Errno{syscall.EIO}},
	{"unlinkat", []syscall.Errno{syscall.EROFS}},
	{"linkat", []syscall.Errno{syscall.EIO}},
	{"symlinkat", []syscall.Errno{syscall.ENOSPC}},
	{"readlinkat", []syscall.Errno{syscall.EACCES}},
	{"faccessat2", []syscall.Errno{syscall.EACCES}},
	{"newfstatat", []syscall.Errno{syscall.EACCES, syscall.EIO}},
	{"fchmodat", []syscall.Errno{syscall.EPERM}},
	{"fchmod", []syscall.Errno{syscall.EPERM}},
	{"utimensat", []syscall.Errno{syscall.EPERM}},
	{"fsync", []syscall.Errno{syscall.EIO}},
	{"flock", []syscall.Errno{syscall.ENOLCK, syscall.EINTR}},
	{"fcntl", []syscall.Errno{syscall.EMFILE, syscall.EPERM}},
	{"fstat", []syscall.Errno{syscall.EIO}},
	{"ftruncate", []syscall.Errno{syscall.EIO}},
	{"getdents64", []syscall.Errno{syscall.EIO}},
	{"lseek", []syscall.Errno{syscall.EIO}},
	{"read", []syscall.Errno{syscall.EINTR, syscall.EIO}},
	{"write", []syscall.Errno{syscall.EINTR, syscall.EAGAIN, syscall.ENOSPC, syscall.EPIPE}},
	{"pread64", []syscall.Errno{syscall.EIO}},
	{"pwrite64", []syscall.Errno{syscall.ENOSPC}},
	{"dup3", []syscall.Errno{syscall.EBADF}},
	{"ioctl", []syscall.Errno{syscall.EIO}},
	{"epoll_ctl", []syscall.Errno{syscall.ENOSPC, syscall.ENOMEM}},
	{"epoll_create1", []syscall.Errno{syscall.EMFILE}},
	{"eventfd2", []syscall.Errno{syscall.EMFILE}},
	{"inotify_init1", []syscall.Errno{syscall.EMFILE}},
	{"inotify_add_watch", []syscall.Errno{syscall.ENOSPC}},
	{"pipe2", []syscall.Errno{syscall.EMFILE, syscall.ENFILE}},
	{"clone", []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM}},
	{"clone3", []syscall.Errno{syscall.EAGAIN}},
	{"execve", []syscall.Errno{syscall.EAGAIN, syscall.ENOMEM}},
	{"setsid", []syscall.Errno{syscall.EPERM}},
	{"getsid", []syscall.Errno{syscall.ESRCH}},
	{"kill", []syscall.Errno{syscall.EPERM}},
	{"prctl", []syscall.Errno{syscall.EINVAL}},
	{"waitid", []syscall.Errno{syscall.EINTR}},
	{"wait4", []syscall.Errno{syscall.EINTR}},
	{"pidfd_open", []syscall.Errno{syscall.EMFILE}},
	{"pidfd_send_signal", []syscall.Errno{syscall.EPERM}},
	{"uname", []syscall.Errno{syscall.EFAULT}},
	{"ppoll", []syscall.Errno{syscall.ENOMEM}},
	{"prlimit64", []syscall.Errno{syscall.EPERM}},
	{"statfs", []syscall.Errno{syscall.EIO}},
}

// site is a place of the program as far as its calls show it: the name of a call and
// what it is about, without what differs from run to run.
type site struct{ name, on string }

func siteOf(c faults.Call) site {
	if strings.HasPrefix(c.On, "pipe at ") {
		return site{c.Name, c.On}
	}
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(c.On, func(r rune) bool { return strings.ContainsRune("/-._", r) }) {
		if len(word) >= 4 && strings.ContainsAny(word, "0123456789") || strings.Trim(word, "0123456789") == "" {
			word = "#" // a hash, a pid, a time
		}
		if !strings.HasSuffix(b.String(), "/#") || word != "#" {
			b.WriteString("/" + word)
		}
	}
	return site{c.Name, b.String()}
}

// isGos tells the calls of Go's runtime, and of the C library's that a test binary is
// linked with, that end a program when they fail: at its start, for a new thread, and
// to wake a thread that waits for the network. It also has those that no system lets
// fail, and that Go relies on: by the pipe of a fork it learns whether the exec worked.
func (s site) isGos() bool {
	switch s.name {
	case "epoll_create1", "eventfd2", "clone3":
		return true
	case "write", "epoll_ctl":
		return strings.HasPrefix(s.on, "/anon") && !strings.Contains(s.on, "inotify")
	case "fcntl":
		return s.on == "pipe at 0" || s.on == "pipe at 1" || s.on == "pipe at 2"
	case "read", "pread64":
		return s.on == "/status of a fork" || strings.Contains(s.on, "libc") || strings.HasPrefix(s.on, "/lib")
	case "newfstatat":
		return s.on == ""
	case "openat":
		return strings.HasPrefix(s.on, "/lib") || strings.HasPrefix(s.on, "/usr/lib")
	}
	return false
}

// fault is one run of the sweep.
type fault struct {
	site
	at    int  // the site's first call that fails
	on    bool // all later ones fail, too
	errno syscall.Errno
}

func (f fault) String() string {
	more := ""
	if f.on {
		more = "+"
	}
	return fmt.Sprintf("%s %s %d%s %s", f.name, strings.ReplaceAll(f.site.on, "/", ","), f.at, more, unix.ErrnoName(f.errno))
}

// run has the conversation with that fault.
func (f fault) run(t *testing.T) *faulty {
	n := 0
	return converse(t, []string{f.name}, func(c faults.Call) syscall.Errno {
		if siteOf(c) != f.site {
			return 0
		}
		if n++; n == f.at || f.on && n > f.at {
			return f.errno
		}
		return 0
	})
}

// TestFaultSweep lets system calls of the shim fail, those of one site in one run.
// With ACP_SHIM_TEST_SWEEP=all it is every site that a conversation shows, its first
// two calls, its last, and all of them; otherwise it is a few that are spread over
// them. ACP_SHIM_TEST_SWEEP=openat,flock is all with those calls.
func TestFaultSweep(t *testing.T) {
	if unhurried > 1 {
		t.Skip("the race detector's own calls would be met as well")
	}
	only := os.Getenv("ACP_SHIM_TEST_SWEEP")
	var names []string
	for _, s := range sweep {
		names = append(names, s.name)
	}
	sites := map[site]int{}
	calm := converse(t, names, func(c faults.Call) syscall.Errno {
		sites[siteOf(c)]++
		return 0
	})
	calm.judge()
	if len(calm.errs) > 0 || calm.session == "" {
		t.Fatalf("nothing failed, and yet: %q", calm.errs)
	}
	t.Logf("%d sites of %v", len(sites), calm.counts)
	var all []fault
	for _, s := range sweep {
		if only != "" && only != "all" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		for _, at := range slices.SortedFunc(maps.Keys(sites), func(a, b site) int { return strings.Compare(a.on, b.on) }) {
			if at.name != s.name || at.isGos() {
				continue
			}
			for _, errno := range s.errnos {
				last := sites[at]
				all = append(all, fault{at, 1, false, errno})
				// What is tried again until it works would be so for ever.
				if last > 1 && errno != syscall.EINTR && errno != syscall.EAGAIN {
					all = append(all, fault{at, 1, true, errno})
				}
				if last > 1 {
					all = append(all, fault{at, 2, false, errno})
				}
				if last > 2 {
					all = append(all, fault{at, last, false, errno})
				}
			}
		}
	}
	if only == "" {
		all = spread(all, 40)
	}
	for _, f := range all {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			r := f.run(t)
			r.judge()
			t.Logf("%s: code %d, errors %q\nstderr %s\nlog %s", r.hit, r.cmd.ProcessState.ExitCode(), r.errs, r.errText(), r.logText())
		})
	}
	t.Logf("%d faults", len(all))
}

// spread takes n that lie far apart.
func spread(all []fault, n int) (some []fault) {
	for i := range n {
		if at := i * len(all) / n; len(all) > 0 && (len(some) == 0 || some[len(some)-1] != all[at]) {
			some = append(some, all[at])
		}
	}
	return some
}

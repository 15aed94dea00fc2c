package faults

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	if Launches(os.Args) {
		os.Exit(Launch(os.Args))
	}
	os.Exit(m.Run())
}

// TestInjection lets the second file that a program reads be one that it may not,
// and nothing of what the program starts.
func TestInjection(t *testing.T) {
	args := []string{"/bin/sh", "-c", `read a </dev/null; echo one; cat /proc/sys/kernel/ostype; { read b </proc/sys/kernel/ostype; } 2>&1; echo three`}
	var met []string
	in, err := New(args, []string{"openat", "getdents64"}, func(c Call) syscall.Errno {
		if strings.HasPrefix(c.On, "/proc/sys/") {
			met = append(met, c.String())
			return syscall.EMFILE
		}
		return 0
	})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(in.Args[0], in.Args[1:]...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, _ := cmd.Output() // what it says is what counts
	counts, err := in.Close()
	if strings.Contains(stderr.String(), "this system lets no test") {
		t.Skip(stderr.String())
	}
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if got := string(out); !strings.HasPrefix(got, "one\nLinux\n") || !strings.Contains(got, "Too many open files") {
		t.Errorf("it said %q, stderr %q", got, &stderr)
	}
	if len(met) != 1 || counts["openat"] < 2 || counts["getdents64"] != 0 {
		t.Errorf("met %q, counted %v", met, counts)
	}
	if _, err := New(args, []string{"no such call"}, nil); err == nil {
		t.Error("a call that nobody knows was taken")
	}
}

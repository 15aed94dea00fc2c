//go:build unix

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"acp-shim/internal/install"
)

// Ctrl-C in the middle of a download ends it with one line, and leaves only what
// the next try goes on with.
func TestAgentInstallInterrupted(t *testing.T) {
	home, taken := t.TempDir(), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		w.Header().Set("Content-Length", "100000000")
		w.Write(bytes.Repeat([]byte("x"), 1<<20))
		w.(http.Flusher).Flush()
		close(taken)
		<-r.Context().Done()
	}))
	defer s.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "agent", "install", "--url", s.URL+"/server.zip?sig=SECRET", "--build", "1.2.1")
	cmd.Args[0] = "acp-shim"
	cmd.Env = []string{playsMain + "=1", "GORACE=atexit_sleep_ms=0", "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-taken
	part := filepath.Join(home, ".local", "opt", "agy-acp", ".download", "1.2.1.zip.part")
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if st, err := os.Stat(part); err == nil && st.Size() == 1<<20 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing arrived")
		}
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d", code)
	}
	want := "acp-shim: interrupted; nothing was installed; 1.0 MB are kept, the same command goes on from there\n"
	if got := stderr.String(); !strings.HasSuffix(got, want) || strings.Contains(got, "SECRET") {
		t.Errorf("stderr %q, want %q", got, want)
	}
	var left []string
	filepath.WalkDir(home, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			left = append(left, filepath.Base(path))
		}
		return nil
	})
	if !slices.Equal(left, []string{"1.2.1.zip.part", "1.2.1.zip.part.json"}) {
		t.Errorf("left behind: %q", left)
	}
}

// The proxy that the environment names is asked, and an archive whose hash is
// known may come without encryption.
func TestAgentInstallByProxy(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	f, _ := z.Create("agy_acp_server.par")
	f.Write([]byte("#!/bin/sh\n"))
	z.Close()
	asked := make(chan string, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.RequestURI
		w.Write(b.Bytes())
	}))
	defer s.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.Command(exe, "agent", "install", "--url", "http://192.0.2.1/server.zip", "--build", "1.2.1", "--sha256", fmt.Sprintf("%x", sha256.Sum256(b.Bytes())))
	cmd.Args[0] = "acp-shim"
	cmd.Env = []string{playsMain + "=1", "GORACE=atexit_sleep_ms=0", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "HTTP_PROXY=" + s.URL}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), ", as it should be\n") {
		t.Fatalf("%v: %s", err, out)
	}
	if got := <-asked; got != "http://192.0.2.1/server.zip" {
		t.Errorf("the proxy was asked for %s", got)
	}
}

// Off a terminal a step that takes long says so once, on a line of its own.
func TestMeterOffATerminal(t *testing.T) {
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := newMeter(out)
	m.stage(install.Stage{Name: "download", From: "https://x/y.zip", All: 3e6})
	m.since = m.since.Add(-2 * longTime)
	m.stage(install.Stage{Name: "download", From: "https://x/y.zip", Done: 1, All: 3e6})
	m.stage(install.Stage{Name: "download", From: "https://x/y.zip", Done: 2, All: 3e6})
	m.stage(install.Stage{Name: "retry", Note: "it broke\x1b off", Wait: time.Second})
	m.stage(install.Stage{Name: "unpack", All: 3e6})
	m.end()
	got, err := os.ReadFile(out.Name())
	want := "acp-shim: downloading https://x/y.zip (3.0 MB)\nacp-shim: it broke\\x1b off; trying again in 1s\n"
	if err != nil || string(got) != want {
		t.Errorf("it wrote %q, want %q", got, want)
	}
}

package logs

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStderrIsSilentUnlessSomethingIsWrong(t *testing.T) {
	var stderr bytes.Buffer
	file := filepath.Join(t.TempDir(), "logs", "shim.log")
	log, end := New(Options{File: file, Level: slog.LevelInfo, Stderr: &stderr, StderrLevel: slog.LevelError})
	log.Info("as ever", "agent", 1)
	log.Debug("details")
	end()
	if stderr.Len() > 0 {
		t.Errorf("stderr: %q", stderr.String())
	}
	b, _ := os.ReadFile(file)
	if !strings.Contains(string(b), "as ever") || strings.Contains(string(b), "details") {
		t.Errorf("file: %q", b)
	}
	if info, _ := os.Stat(file); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	log, end = New(Options{Stderr: &stderr, StderrLevel: slog.LevelError})
	log.Error("wrong")
	end()
	if !strings.Contains(stderr.String(), "wrong") {
		t.Errorf("stderr: %q", stderr.String())
	}
}

// TestLogThatCannotBeWritten is told where it can be, once.
func TestLogThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "file"), nil, 0o600)
	for name, file := range map[string]string{"no directory": filepath.Join(dir, "file", "shim.log"), "no file": dir, "a full disk": "/dev/full"} {
		if _, err := os.Stat("/dev/full"); err != nil && file == "/dev/full" {
			continue
		}
		var stderr bytes.Buffer
		log, end := New(Options{File: file, Level: slog.LevelInfo, Stderr: &stderr, StderrLevel: slog.LevelError})
		log.Info("one")
		log.Info("two")
		end()
		if said := stderr.String(); strings.Count(said, "\n") != 1 || !strings.Contains(said, "the log cannot be written") || !strings.Contains(said, filepath.Dir(file)) {
			t.Errorf("%s: stderr: %q", name, said)
		}
	}
}

func TestRecordsAreBounded(t *testing.T) {
	var out bytes.Buffer
	log, end := New(Options{Stderr: &out, StderrLevel: slog.LevelInfo})
	log.Info(strings.Repeat("x", 3*recordMax))
	end()
	if out.Len() != recordMax || !strings.HasSuffix(out.String(), " ...\n") {
		t.Errorf("%d bytes", out.Len())
	}
}

func TestNobodyWaitsForASlowSink(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	log, end := New(Options{Stderr: w, StderrLevel: slog.LevelInfo})
	start := time.Now()
	for range 2000 {
		log.Info(strings.Repeat("x", 1000))
	}
	end()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("it took %v", d)
	}
}

func TestFilesAreRotatedAndPruned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shim.log")
	old := path + ".2026-01-01"
	os.WriteFile(old, nil, 0o600)
	os.WriteFile(path, []byte("yesterday\n"), 0o600)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)
	os.Chtimes(path, now, now.AddDate(0, 0, -1))
	d := &daily{path: path, now: func() time.Time { return now }}
	d.Write([]byte("today\n"))
	now = now.AddDate(0, 0, 1)
	os.Chtimes(path, now, now.AddDate(0, 0, -1))
	d.Write([]byte("tomorrow\n"))
	for name, want := range map[string]string{path + ".2026-11-29": "yesterday\n", path + ".2026-11-30": "today\n", path: "tomorrow\n"} {
		if b, _ := os.ReadFile(name); string(b) != want {
			t.Errorf("%s: %q", filepath.Base(name), b)
		}
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an old file is kept")
	}
}

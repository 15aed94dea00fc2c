package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"acp-shim/internal/scripts"
)

// TestScripts runs the scripts in testdata/script. The test binary plays the
// shim, under the names that a user gives it.
func TestScripts(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			bin := filepath.Join(env.WorkDir, "bin")
			if err := os.Mkdir(bin, 0o755); err != nil {
				return err
			}
			if err := os.Symlink(exe, filepath.Join(bin, "acp-shim")); err != nil {
				return err
			}
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("PATH", bin+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv(playsMain, "1")
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("HOME", home)
			env.Setenv("GEMINI_HOME", filepath.Join(env.WorkDir, "gemini"))
			return os.MkdirAll(home, 0o755) // a script may have put files there
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"talk": talk, "zip": scripts.Zip, "publish": publish, "browse": scripts.Browse, "unpack": unpack},
	})
}

// talk runs a conversation: talk SCRIPT COMMAND ARGS. A line of the script that
// begins with > is sent, with $NAME replaced by what was captured; < TEXT waits
// for a line that has all the words of TEXT in it; = NAME KEY captures the value
// of the first "KEY":"…" of that line. write FILE TEXT writes a file, stderr TEXT
// waits for a text there, and eof ends the input. At the end of the script the
// program must end by itself.
func talk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: talk SCRIPT COMMAND ARGS")
	}
	p := startPeer(ts, args[1:])
	defer p.end()
	vars := map[string]string{}
	last := ""
	scanner := bufio.NewScanner(strings.NewReader(ts.ReadFile(args[0])))
	for scanner.Scan() {
		line := strings.TrimSpace(scanner.Text())
		rest := ""
		if len(line) > 1 {
			rest = strings.TrimSpace(line[1:])
		}
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case line == "eof":
			p.in.Close()
		case strings.HasPrefix(line, "write "):
			name, text, _ := strings.Cut(strings.TrimPrefix(line, "write "), " ")
			ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
		case strings.HasPrefix(line, "stderr "):
			p.awaitStderr(strings.TrimPrefix(line, "stderr "))
		case line[0] == '>':
			for name, v := range vars {
				rest = strings.ReplaceAll(rest, "$"+name, v)
			}
			fmt.Fprintln(p.in, rest)
		case line[0] == '<':
			for name, v := range vars {
				rest = strings.ReplaceAll(rest, "$"+name, v)
			}
			last = p.await(strings.Fields(rest))
		case line[0] == '=':
			name, key, _ := strings.Cut(rest, " ")
			_, after, ok := strings.Cut(last, `"`+key+`":"`)
			if !ok {
				ts.Fatalf("no %s in %s", key, last)
			}
			vars[name], _, _ = strings.Cut(after, `"`)
		default:
			ts.Fatalf("the script says %q", line)
		}
	}
	p.in.Close()
	if err := p.wait(10 * time.Second); err != nil {
		ts.Fatalf("it did not end well: %v", err)
	}
	if err := os.WriteFile(ts.MkAbs("stderr.txt"), []byte(p.stderr.String()), 0o644); err != nil {
		ts.Fatalf("%v", err)
	}
}

//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"acp-shim/internal/login"
	"acp-shim/internal/status"
	"acp-shim/proxy"
)

const (
	helloParams  = `{"protocolVersion":1,"clientCapabilities":{}}`
	oauthPersona = `{"methodId":"oauth-personal"}`
)

// headless is a machine that nobody looks at.
var headless = []string{"DISPLAY=", "WAYLAND_DISPLAY=", "BROWSER=", "SSH_CONNECTION=10.0.0.1 2 10.0.0.2 22"}

// finishLogin is what the browser does when somebody has logged in.
func finishLogin(t *testing.T, p login.Page) {
	t.Helper()
	r, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/?code=abc", p.Port))
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, r.Body)
	r.Body.Close()
	if r.StatusCode != 200 {
		t.Fatal(r.Status)
	}
}

// TestLoginPage is the quirk login-page: on the bare agent authenticate waits until
// the login is given up, and the page is seen nowhere; through the shim the client
// gets it.
func TestLoginPage(t *testing.T) {
	t.Run("bare", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		c := s.start(s.sim("rc01", "--login", "none", "--login-url", "nowhere", "--login-window", "500ms"), headless...)
		c.call("initialize", helloParams)
		r := c.call("authenticate", oauthPersona)
		if strings.Contains(r.Raw+c.errText(), "https://") || !strings.Contains(r.Get("error.message").Str, "Timed out") {
			t.Errorf("the problem does not show: %s %s", r.Raw, c.errText())
		}
	})
	t.Run("off", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		c := s.start(append([]string{s.shim, "--profile=agy", "--quirk=login-page=off", "--"}, s.sim("rc01", "--login", "none", "--login-url", "nowhere", "--login-window", "500ms")...), headless...)
		c.call("initialize", helloParams)
		if r := c.call("authenticate", oauthPersona); strings.Contains(r.Raw+c.errText(), "https://") {
			t.Errorf("switched off: %s %s", r.Raw, c.errText())
		}
	})
	for _, row := range []struct{ name, build, where string }{
		{"by the browser", "rc01", "nowhere"}, {"on stdout", "rc01", "stdout"}, {"on stderr", "1.3.0", "stderr"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			env := headless
			capture := filepath.Join(s.home, "capture.jsonl")
			c := s.start(append([]string{s.shim, "--profile=agy", "--record=" + capture, "--"}, s.sim(row.build, "--login", "none", "--login-url", row.where)...), env...)
			c.call("initialize", helloParams)
			r := c.call("authenticate", oauthPersona)
			p, ok := login.Find([]byte(r.Get("error.message").Str))
			if !ok || r.Get("error.code").Int() != proxy.CodeInternal || !strings.Contains(r.Get("error.message").Str, fmt.Sprintf("ssh -N -L %d:127.0.0.1:%d ", p.Port, p.Port)) {
				t.Fatalf("authenticate was answered %s", r.Raw)
			}
			c.awaitErr("acp-shim: " + p.Advice()[:20])
			// The next one waits for the same login, and has its outcome.
			again := c.request("authenticate", oauthPersona)
			c.call("session/list", `{}`)
			finishLogin(t, p)
			if r := c.answerTo(again); !r.Get("result").Exists() {
				t.Errorf("the login that was begun before came to %s", r.Raw)
			}
			if s := c.session(); s == "" {
				t.Error("no session can be opened")
			}
			c.end()
			for _, path := range []string{capture, filepath.Join(s.home, ".local", "state", "acp-shim", "logs", "acp-shim.log")} {
				if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), p.URL[strings.Index(p.URL, "state="):][:20]) {
					t.Errorf("%s has the page's secret, or is not there: %v", path, err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(s.home, ".local", "state", "acp-shim", "browser", "opened", "*")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestLoginPageWithABrowser has the browser run that was set, and nothing else
// happens: not on stderr, and not to authenticate before the agent answers.
func TestLoginPageWithABrowser(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	got := filepath.Join(s.home, "got")
	browser := filepath.Join(s.home, "firefox")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >"+got+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	c := s.start(append([]string{s.shim, "--profile=agy", "--"}, s.sim("rc01", "--login", "none", "--login-url", "nowhere", "--login-window", "4500ms")...),
		"DISPLAY=:0", "SSH_CONNECTION=", "BROWSER="+browser)
	c.call("initialize", helloParams)
	r := c.call("authenticate", oauthPersona)
	b, _ := os.ReadFile(got)
	p, ok := login.Find(b)
	if !ok {
		t.Fatalf("the browser was given %q", b)
	}
	if strings.Contains(c.errText(), "acp-shim") {
		t.Errorf("stderr: %s", c.errText())
	}
	if m := r.Get("error.message").Str; !strings.Contains(m, "Timed out") || !strings.Contains(m, p.URL) || !strings.Contains(m, "acp-shim login") {
		t.Errorf("the login that nobody finished came to %s", r.Raw)
	}
}

// TestLoginGivenUp has the second authenticate answered by what the agent says to the
// first one.
func TestLoginGivenUp(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.start(append([]string{s.shim, "--profile=agy", "--"}, s.sim("rc01", "--login", "none", "--login-url", "nowhere", "--login-window", "8s")...), headless...)
	c.call("initialize", helloParams)
	c.call("authenticate", oauthPersona)
	again := c.request("authenticate", oauthPersona)
	if r := c.answerTo(again); !strings.Contains(r.Get("error.message").Str, "Timed out") {
		t.Errorf("it came to %s", r.Raw)
	}
}

// TestLoginWaitsForAProcessThatEnds has the second authenticate answered, too, where
// nobody is left who could say what became of the first one.
func TestLoginWaitsForAProcessThatEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.start(append([]string{s.shim, "--profile=agy", "--"}, s.sim("rc01", "--login", "none", "--login-url", "nowhere")...), headless...)
	c.call("initialize", helloParams)
	c.call("authenticate", oauthPersona)
	again := c.request("authenticate", oauthPersona)
	c.call("session/list", `{}`) // it has come to the shim before this
	s.become("the agent's process", func(list []status.Shim) bool {
		if len(list) == 0 || list[0].Status == nil || len(list[0].Status.Processes) == 0 {
			return false
		}
		if err := syscall.Kill(list[0].Status.Processes[0].PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		return true
	})
	if r := c.answerTo(again); r.Get("error.code").Int() != proxy.CodeInternal || r.Get("error.data.reason").Str != "login_lost" {
		t.Errorf("it came to %s", r.Raw)
	}
}

// TestLoginTwiceAtOnce has each of two authenticates answered once, and one that is
// cancelled while it waits for the other's outcome answered at once.
func TestLoginTwiceAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	c := s.start(append([]string{s.shim, "--profile=agy", "--"}, s.sim("rc01", "--login", "none", "--login-url", "nowhere", "--login-window", "20s")...), headless...)
	c.call("initialize", helloParams)
	first, second := c.request("authenticate", oauthPersona), c.request("authenticate", oauthPersona)
	r := c.answerTo(first)
	if other := c.answerTo(second); other.Get("error").Raw != r.Get("error").Raw || r.Get("error.data.reason").Str != "login_waits" {
		t.Errorf("they were answered %s and %s", r.Raw, other.Raw)
	}
	p, _ := login.Find([]byte(r.Get("error.message").Str))
	third, fourth := c.request("authenticate", oauthPersona), c.request("authenticate", oauthPersona)
	c.notify("$/cancel_request", fmt.Sprintf(`{"requestId":%d}`, third))
	if r := c.answerTo(third); r.Get("error.code").Int() != -32800 {
		t.Errorf("the one that was cancelled was answered %s", r.Raw)
	}
	finishLogin(t, p)
	if r := c.answerTo(fourth); !r.Get("result").Exists() {
		t.Errorf("the login that was begun before came to %s", r.Raw)
	}
}

// TestLoginEnded has a login whose terminal is closed, or that is ended, leave nothing
// behind: no directory, and no address.
func TestLoginEnded(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s, temp := newStage(t), t.TempDir()
			cmd := exec.Command(s.shim, append([]string{"login", "--"}, s.sim("rc01", "--login", "none", "--login-url", "nowhere")...)...)
			cmd.Env = append(append(slices.Clone(s.env), headless...), "TMPDIR="+temp)
			out, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			ended := false
			for lines := bufio.NewScanner(out); lines.Scan(); {
				if _, ok := login.Find(lines.Bytes()); ok && !ended {
					ended = true
					cmd.Process.Signal(sig)
				}
			}
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
				t.Error(err)
			}
			left, _ := filepath.Glob(filepath.Join(temp, "*"))
			notes, _ := filepath.Glob(filepath.Join(s.home, ".local", "state", "acp-shim", "browser", "opened", "*"))
			if len(left)+len(notes) > 0 {
				t.Errorf("left behind: %v %v", left, notes)
			}
		})
	}
}

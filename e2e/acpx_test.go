//go:build linux

package e2e

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"acp-shim/fixtures/bridge"
)

// acpx keeps a session's agent in a process of its own, the queue owner, which
// outlives the command that started it.

func acpxCommand(t *testing.T, agent []string, args ...string) []string {
	t.Helper()
	return append([]string{node, module(t, "acpx", "dist", "cli.js"), "--agent", strings.Join(agent, " ")}, args...)
}

// acpx runs a command to its end and gives what it printed.
func (w *world) acpx(agent []string, args ...string) (out string, code int) {
	w.t.Helper()
	p, code := w.do(acpxCommand(w.t, agent, args...)...)
	return p.out(), code
}

// expect runs a prompt in the session of the working directory.
func (w *world) expect(agent []string, want string, args ...string) {
	w.t.Helper()
	if out, code := w.acpx(agent, args...); code != 0 || !strings.Contains(out, want+"\n\n[done] end_turn") {
		w.t.Errorf("%q gave %d and %q, want %q", args, code, out, want)
	}
}

func (w *world) openSession(agent []string) {
	w.t.Helper()
	if out, code := w.acpx(agent, "sessions", "new"); code != 0 {
		w.t.Fatalf("sessions new gave %d and %q", code, out)
	}
	w.t.Cleanup(func() { w.acpx(agent, "sessions", "close") })
}

func TestAcpxExec(t *testing.T) {
	for _, build := range []string{"rc01", "1.2.1"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.expect(through(simulator(build)), "HI.", "exec", "Reply with exactly: HI. No tools.")
		})
	}
}

func TestAcpxSession(t *testing.T) {
	for _, build := range []string{"rc01", "1.3.0"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			agent := through(simulator(build))
			w.openSession(agent)
			w.expect(agent, "You said: remember this", "prompt", "remember this")
			w.expect(agent, "turns=1 last=remember this", "prompt", "history")
			w.expect(agent, "model=gemini-3.8-flash-low mode=default", "--model", "gemini-3.8-flash-low", "prompt", "config")
			if out, code := w.acpx(agent, "set-mode", "yolo"); code != 0 || !strings.Contains(out, "mode set: yolo") {
				t.Errorf("set-mode gave %d and %q", code, out)
			}
			w.expect(agent, "model=gemini-3.8-flash-low mode=yolo", "prompt", "config")

			// The second process asks the queue owner for the cancel.
			first := w.start(acpxCommand(t, agent, "prompt", "stream 100000 every 10ms"))
			first.await("\n2")
			if out, code := w.acpx(agent, "cancel"); code != 0 || !strings.Contains(out, "cancel requested") {
				t.Errorf("cancel gave %d and %q", code, out)
			}
			first.await("[done] cancelled")
			first.wait()
			w.expect(agent, "model=gemini-3.8-flash-low mode=yolo", "prompt", "config")

			// The queue owner is gone without a word, and with it the shim.
			out, _ := w.acpx(agent, "status")
			pid, err := strconv.Atoi(string(regexp.MustCompile(`pid: (\d+)`).FindSubmatch([]byte(out + "\npid: 0"))[1]))
			if err != nil || pid == 0 {
				t.Fatalf("no process in the status %q", out)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			w.gone(pid)
			if out, code := w.acpx(agent, "prompt", "history"); code != 0 || !strings.Contains(out, "last=config") || strings.Contains(out, "turns=1 ") {
				t.Errorf("after the queue owner's end: %d, %q", code, out)
			}
		})
	}
}

func TestAcpxPermissions(t *testing.T) {
	for _, x := range []struct {
		flag, file string
		code       int
	}{{"--approve-all", "what to write\n", 0}, {"--deny-all", "", 5}} {
		t.Run(x.flag, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			out, code := w.acpx(through(simulator("1.1.1")), x.flag, "exec", "edit note.txt what to write")
			b, err := os.ReadFile(filepath.Join(w.cwd, "note.txt"))
			if code != x.code || string(b) != x.file || os.IsNotExist(err) != (x.file == "") {
				t.Errorf("exit code %d, file %q, %v, and %q", code, b, err, out)
			}
		})
	}
}

// TestAcpxMCP has acpx name the bridge once, and the shim once.
func TestAcpxMCP(t *testing.T) {
	for _, who := range []string{"acpx", "shim"} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			token := rand.Text()
			b, err := bridge.Start(t.Context(), token)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			file := filepath.Join(w.home, "mcp.json")
			config := map[string]any{"mcpServers": []any{map[string]any{
				"name": "pi-bridge", "type": "http", "url": b.URL, "headers": []any{map[string]string{"name": bridge.TokenHeader, "value": token}},
			}}}
			agent, flags := through(simulator("rc01")), []string{"--mcp-config", file}
			if who == "shim" {
				config = map[string]any{"mcpServers": map[string]any{"pi-bridge": map[string]any{"httpUrl": b.URL, "headers": map[string]string{bridge.TokenHeader: token}}}}
				agent, flags = through(simulator("rc01"), flags...), nil
			}
			text, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			w.expect(agent, "ECHO:over acpx", append(flags, "exec", `mcp pi-bridge bridge_echo {"text":"over acpx"}`)...)
			if calls := b.Calls(); len(calls) != 1 || calls[0].Text != "over acpx" {
				t.Errorf("the bridge saw %+v", calls)
			}
		})
	}
}

func TestAcpxWithExampleAgent(t *testing.T) {
	for flag, want := range map[string]string{
		"--approve-all": "Perfect! I've successfully updated the configuration. The changes have been applied.",
		"--deny-all":    "I understand you prefer not to make that change. I'll skip the configuration update.",
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			out, _ := w.acpx(through(tsExampleAgent(t), "--profile", "none"), flag, "exec", "do it")
			if !strings.Contains(out, want) || !strings.Contains(out, "[done] end_turn") {
				t.Errorf("no %q in %q", want, out)
			}
		})
	}
}

// TestCtrlC is one on the terminal of acpx: it reaches the whole foreground
// group, and the shim in it a little before acpx sends its cancel.
func TestCtrlC(t *testing.T) {
	for name, x := range map[string]struct {
		agent       []string
		prompt, say string
	}{
		"rc01":          {through(simulator("rc01")), "stream 100000 every 10ms", "\n2"},
		"1.3.0":         {through(simulator("1.3.0")), "stream 100000 every 10ms", "\n2"},
		"1.2.1 command": {through(simulator("1.2.1")), "command 60s", "[tool]"},
		"example agent": {through(tsExampleAgent(t), "--profile", "none"), "do it", "I'll help you with that."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p, terminal := w.onTerminal(acpxCommand(t, x.agent, "--approve-all", "exec", x.prompt))
			p.await(strings.ReplaceAll(x.say, "\n", "\r\n"))
			if _, err := terminal.WriteString("\x03"); err != nil {
				t.Fatal(err)
			}
			// acpx says that it was interrupted, 130, when the turn has ended.
			if code := p.wait(); code != 130 && code != 0 {
				t.Errorf("exit code %d", code)
			}
			if text := p.text(); !strings.Contains(text, "[done] cancelled") {
				t.Errorf("the turn did not end cancelled: %q", text)
			}
		})
	}
}

// onTerminal starts a program as the foreground of a terminal of its own.
func (w *world) onTerminal(argv []string) (*program, *os.File) {
	w.t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { terminal.Close() })
	fd := int(terminal.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	p := &program{t: w.t, cmd: w.command(argv)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = side, side, side
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.run(w)
	side.Close()
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := terminal.Read(b)
			if err != nil {
				return
			}
			saying{p, true}.Write(b[:n])
		}
	}()
	return p, terminal
}

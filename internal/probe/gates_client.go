package probe

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

func clientGates() []*gate {
	return []*gate{
		{id: "client.none", title: "fs and terminal not offered", phase: last,
			criterion: "what the client does not offer is not asked of it", source: acp + "initialization", run: notOffered},
		{id: "client.fs", title: "fs offered", session: true, live: true,
			criterion: "a client that offers fs may be asked for files, by absolute paths; the turn ends in order either way", source: acp + "file-system", run: filesOffered},
		{id: "client.terminal", title: "terminal offered", session: true, live: true,
			criterion: "a client that offers a terminal may be asked for one, and it is released; the turn ends in order either way", source: acp + "terminals", run: terminalOffered},
		{id: "stdout", title: "nothing else on stdout", phase: last,
			criterion: "the agent writes nothing to its stdout that is not a valid ACP message", source: acp + "transports", run: onlyMessages},
	}
}

// opens has a session opened, where one can be: then an agent may say something
// that others have not heard from it.
func (t *trial) opens() {
	p := t.borrow()
	if a := t.answer(p, "session/new", t.newParams("[]")); !a.Error.Exists() {
		t.ask(p, noMethod, "{}")
	}
}

func notOffered(t *trial) {
	t.opens()
	t.mu.Lock()
	list := t.uncall
	t.mu.Unlock()
	for _, p := range list {
		t.addProof(p)
	}
	t.fact("asked for", "%t", len(list) > 0)
	switch {
	case len(list) > 0:
		t.fail("asked for what was not offered: %s", clip(gjson.Get(list[0].Text, "method").Str, 60))
	case !t.opt.Live:
		t.needLive()
	}
	t.pass("neither was asked for")
}

func onlyMessages(t *trial) {
	t.opens()
	t.tape.mu.Lock()
	noisy, noise, lines := t.tape.noisy, t.tape.noise, t.tape.lines
	t.tape.mu.Unlock()
	for _, p := range noise {
		t.addProof(p)
	}
	t.fact("noise", "%t", noisy > 0)
	if noisy > 0 {
		t.number("lines", float64(lines), "count")
		t.fallback("%s of noise: a client must pass over it", some(noisy, "line"))
	}
	t.pass("all lines are messages")
}

// files is a client's file system: the directory of the trial and nothing else.
type files struct {
	dir string

	mu    sync.Mutex
	asked []string
	wrong string
}

func (f *files) answer(method string, params gjson.Result, _ string) (string, bool) {
	if !strings.HasPrefix(method, "fs/") {
		return "", false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, method)
	path := params.Get("path").Str
	if !filepath.IsAbs(path) && f.wrong == "" {
		f.wrong = "the path " + clip(path, 80) + " is not absolute"
	}
	refused := func(why string) (string, bool) {
		return `"error":{"code":-32602,"message":` + wire.Quote(why) + `}`, false
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err != nil || dir != f.dir {
		return refused("only files of the session's directory are here")
	}
	// The agent may have put something else there: a pipe, a link, gigabytes.
	info, err := os.Lstat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > 1<<20) {
		return refused("only small and regular files are here")
	}
	switch method {
	case "fs/read_text_file":
		b, err := os.ReadFile(path)
		if err != nil {
			return refused("no such file")
		}
		content, _ := json.Marshal(map[string]string{"content": string(b)}) // of strings it cannot fail
		return `"result":` + string(content), false
	case "fs/write_text_file":
		if err := os.WriteFile(path, []byte(params.Get("content").Str), 0o600); err != nil {
			return refused("it cannot be written")
		}
		return `"result":{}`, false
	}
	return refused("no such method")
}

func filesOffered(t *trial) {
	const content = "the colour is VERMILION"
	if err := os.WriteFile(t.path("PROBE-READ.txt"), []byte(content+"\n"), 0o600); err != nil {
		t.fail("the file that is to be read could not be made: %v", err)
	}
	p := t.fresh(offers{files: true})
	f := &files{dir: t.cwd}
	p.onAsk(f.answer)
	id, _ := t.session(p)
	read := t.prompt(p, id, askRead("PROBE-READ.txt"))
	said := read.finish()
	write := t.prompt(p, id, askCreate("PROBE-WRITE.txt", "written by a probe"))
	write.finish()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range []*turn{read, write} {
		for _, l := range p.conn.Lines(u.call.Index) {
			var m wire.Message
			if m.Parse(l.Bytes); !l.Sent && strings.HasPrefix(m.Method, "fs/") {
				t.prove(p, l.Index)
			}
		}
	}
	used := usedNames(f.asked)
	t.fact("asked for", "%s", used)
	t.prove(p, read.answer.Index, write.answer.Index)
	switch {
	case f.wrong != "":
		t.fail("%s", f.wrong)
	case !holds(said, "VERMILION"):
		t.fallback("asked for: %s; what it says of the file is %q", used, clip(tidy(said), 80))
	}
	t.pass("asked for: %s", used)
}

// usedNames are methods, each once, in the order of their first use.
func usedNames(asked []string) string {
	var list []string
	seen := map[string]bool{}
	for _, m := range asked {
		if m = clip(m, 60); !seen[m] {
			seen[m] = true
			list = append(list, m)
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// terminal is a client's terminal in which nothing runs: it shows what the one
// command that was asked for, an echo, would say, and refuses any other.
type terminal struct {
	word string

	mu    sync.Mutex
	asked []string
	open  int
}

func (x *terminal) answer(method string, params gjson.Result, _ string) (string, bool) {
	if !strings.HasPrefix(method, "terminal/") {
		return "", false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked = append(x.asked, method)
	switch method {
	case "terminal/create":
		line := params.Get("command").Str
		for _, a := range params.Get("args").Array() {
			line += " " + a.Str
		}
		if !strings.Contains(line, "echo") || !strings.Contains(line, x.word) {
			return `"error":{"code":-32602,"message":"only the echo that was asked for may run here"}`, false
		}
		x.open++
		return `"result":{"terminalId":"probe-terminal"}`, false
	case "terminal/output":
		return `"result":{"output":` + wire.Quote(x.word+"\n") + `,"truncated":false,"exitStatus":{"exitCode":0,"signal":null}}`, false
	case "terminal/wait_for_exit":
		return `"result":{"exitCode":0,"signal":null}`, false
	case "terminal/release":
		x.open--
		return `"result":{}`, false
	case "terminal/kill":
		return `"result":{}`, false
	}
	return "", false
}

func terminalOffered(t *trial) {
	p := t.fresh(offers{terminal: true})
	x := &terminal{word: "probe-terminal"}
	p.onAsk(x.answer)
	id, _ := t.session(p)
	u := t.prompt(p, id, askShell("echo probe-terminal"))
	u.finish()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, l := range p.conn.Lines(u.call.Index) {
		var m wire.Message
		if m.Parse(l.Bytes); !l.Sent && strings.HasPrefix(m.Method, "terminal/") {
			t.prove(p, l.Index)
		}
	}
	used := usedNames(x.asked)
	t.fact("asked for", "%s", used)
	t.prove(p, u.answer.Index)
	if x.open > 0 {
		t.fail("asked for: %s; a terminal was not released", used)
	}
	t.pass("asked for: %s", used)
}

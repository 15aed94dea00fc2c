package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// surroundings is a place that the shim may be started in.
type surroundings struct {
	name string
	// before are commands of a shell that becomes the shim.
	before string
	// env is put over the environment; a name with - before it is taken away.
	env   []string
	flags []string
	// stderr is what has to be said there; "" for nothing of the shim's.
	stderr string
	// answer is the error of the first request; "" where all are carried out.
	answer string
}

// TestSurroundings has the conversation wherever somebody may start the shim: it is
// carried through, and what cannot be done there is said, once.
func TestSurroundings(t *testing.T) {
	for _, row := range []surroundings{
		{name: "as ever"},
		{name: "no home", env: []string{"-HOME"}},
		{name: "an empty home", env: []string{"HOME="}},
		{name: "a home that is not there", env: []string{"HOME=@/none"}},
		{name: "a home that is a device", env: []string{"HOME=/dev/null"}, stderr: "sessions are neither remembered nor locked against other shims; name another place with --state-dir"},
		{name: "a read-only home", before: `mount -t tmpfs -o ro none "$HOME"`, env: []string{"HOME=@/home"}, stderr: "sessions are neither remembered nor locked against other shims; name another place with --state-dir"},
		{name: "a full home", before: `mount -t tmpfs -o size=4k none "$HOME"; head -c 4096 /dev/zero >"$HOME/full"`, env: []string{"HOME=@/home"}, stderr: "the log cannot be written"},
		{name: "no TMPDIR", env: []string{"-TMPDIR"}},
		{name: "a TMPDIR that is not there", env: []string{"TMPDIR=@/none"}},
		{name: "a TMPDIR that is not there, and needed", env: []string{"TMPDIR=@/none"}, flags: []string{"--private-temp"}, answer: "its private temporary directory could not be made"},
		{name: "a read-only TMPDIR", before: `mount -t tmpfs -o ro none "$TMPDIR"`, env: []string{"TMPDIR=@/tmp"}, flags: []string{"--private-temp"}, answer: "its private temporary directory could not be made"},
		{name: "no proc", before: `umount -l /proc`},
		{name: "no devices", before: `mount -t tmpfs none /dev`},
		{name: "few descriptors", before: `ulimit -n 64`},
		{name: "hardly a descriptor", before: `ulimit -n 12`, answer: "too many open files"},
		{name: "no large files", before: `ulimit -f 1`, flags: []string{"--record=@/c.jsonl"}, stderr: "the capture is in trouble"},
		{name: "a directory that is gone", before: `mkdir "@/gone"; cd "@/gone"; rmdir "@/gone"`},
		{name: "a capture beside a directory that is gone", before: `mkdir "@/gone"; cd "@/gone"; rmdir "@/gone"`, flags: []string{"--record=c.jsonl"}, stderr: "nothing is recorded"},
		{name: "no stderr", before: `exec 2>&-`},
		{name: "a stderr that is full", before: `exec 2>/dev/full`, flags: []string{"--record=/dev/null/c"}},
		{name: "no environment", env: []string{"-PATH", "-HOME"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.play(t)
		})
	}
}

func (row surroundings) play(t *testing.T) {
	s, dir := newStage(t), t.TempDir()
	for _, name := range []string{"home", "tmp", "gemini"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	own := func(text string) string { return strings.ReplaceAll(text, "@", dir) }
	s.env = append(s.env, "GEMINI_HOME="+filepath.Join(dir, "gemini"))
	argv := []string{s.shim}
	for _, flag := range row.flags {
		argv = append(argv, own(flag))
	}
	argv = append(argv, "--profile=agy", "--")
	if row.name == "no proc" {
		// The simulator cannot do without.
		argv = append(argv, "/usr/bin/env", "unshare", "-m", "sh", "-c", `mount -t proc none /proc; exec "$@"`, "sh")
	}
	argv = append(argv, s.sim("1.1.1")...)
	if row.before != "" {
		argv = append([]string{"/bin/sh", "-c", own(row.before) + "\nexec \"${@}\"", "sh"}, argv...)
		if strings.Contains(row.before, "mount") {
			if os.Geteuid() != 0 {
				t.Skip("only root may mount")
			}
			argv = append([]string{"unshare", "-m"}, argv...)
		}
	}
	for _, kv := range row.env {
		name, _, _ := strings.Cut(strings.TrimPrefix(kv, "-"), "=")
		s.env = slices.DeleteFunc(s.env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		if kv[0] != '-' {
			s.env = append(s.env, own(kv))
		}
	}
	f := &faulty{t: t, asked: map[int]string{}, hit: row.name}
	f.editor = s.start(argv)
	f.talk()
	f.end()
	f.wait()
	if strings.Contains(f.errText(), "unshare: ") {
		t.Skip(f.errText())
	}
	f.judgeAnswers()
	said := f.shimsWords()
	if strings.Count(said, row.stderr) != 1 && row.stderr != "" || row.stderr == "" && said != "" {
		t.Errorf("stderr says, where it should have once %q: %s", row.stderr, said)
	}
	if code := f.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	switch {
	case row.answer == "" && (len(f.errs) > 0 || len(f.asked) != 5):
		t.Errorf("%d requests were made; errors: %q", len(f.asked), f.errs)
	case row.answer != "" && (len(f.errs) != 1 || !strings.Contains(f.errs[0], row.answer)):
		t.Errorf("the answers with errors are %q, not %q", f.errs, row.answer)
	}
}

// shimsWords is what stderr has of the shim's own.
func (f *faulty) shimsWords() string {
	var own []string
	for line := range strings.Lines(f.errText()) {
		if strings.Contains(line, " ERR ") || strings.Contains(line, "acp-shim: ") {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"acp-shim/internal/doctor"
	"acp-shim/internal/settings"
	"acp-shim/internal/state"
	"acp-shim/internal/status"
)

// reportCmd puts together what a bug report needs.
type reportCmd struct {
	examined
	Output    string `short:"o" placeholder:"FILE.zip" help:"Where it goes (acp-shim-report-DATE.zip, here)."`
	Capture   string `placeholder:"FILE" xor:"capture" help:"This capture, instead of the newest one."`
	NoCapture bool   `xor:"capture" help:"No capture: nothing of any conversation."`
}

// Help is what the flags do not say.
func (reportCmd) Help() string {
	return `One archive with what acp-shim doctor and acp-shim status say, the settings in effect, the end of the log, and the end of the newest
capture: of those that the settings or a running shim write, if there are any. Secrets are replaced, also in a capture that was made
with --record-raw, and the home directory is called ~, but in the capture, which keeps its name. A capture
holds a conversation: look through it before you send it to anybody.

  acp-shim report
  acp-shim report --capture ~/captures/today.jsonl -o bug.zip
  acp-shim report --no-capture -- ./agy_acp_server.par`
}

func (c reportCmd) Run() error {
	name := c.Output
	if name == "" {
		name = "acp-shim-report-" + time.Now().Format("20060102-150405") + ".zip"
	}
	if _, err := os.Lstat(name); err == nil {
		return failed(fmt.Errorf("%s is there already; name another file with -o", name))
	}
	// Known before the agent is started, which takes its time.
	half, err := newHalf(name)
	if err != nil {
		return failed(fmt.Errorf("writing %s: %w; name a file in another directory with -o", name, err))
	}
	half.Close()
	os.Remove(half.Name())
	// Put together in memory, which captureMax bounds: who is interrupted leaves nothing.
	var text bytes.Buffer
	b := &bundle{zip: zip.NewWriter(&text)}
	err = c.fill(b)
	if e := b.zip.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = writeNew(name, text.Bytes())
	}
	if err != nil {
		return failed(fmt.Errorf("writing %s: %w; nothing was written", name, err))
	}
	b.tell(newPainter(stdout), name)
	return nil
}

// newHalf makes the file that becomes one of this name when it is whole. It is for
// this user only.
func newHalf(name string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".acp-shim-report-*")
	var p *os.PathError
	if errors.As(err, &p) {
		return nil, fmt.Errorf("no file can be made in %s: %w", filepath.Dir(name), p.Err)
	}
	return f, err
}

// writeNew writes a file whole or not at all, and replaces none.
func writeNew(name string, text []byte) error {
	f, err := newHalf(name)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if e := f.Close(); err == nil {
		err = e
	}
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err // the name of the half says nothing
	}
	if err != nil {
		return err
	}
	return placeNew(f.Name(), name)
}

// placeNew gives a file that is whole its name. A rename would replace what was put
// there meanwhile; the caller removes the file under its first name.
func placeNew(half, name string) error {
	err := os.Link(half, name)
	if err != nil && !errors.Is(err, os.ErrExist) {
		err = os.Rename(half, name) // a file system without links
	}
	return err
}

// bundle is the archive that is being made.
type bundle struct {
	zip     *zip.Writer
	scrub   scrubber
	files   []bundled
	missing []string // what is not in it, and why
}

type bundled struct {
	name, what string
	talk       bool // it holds a conversation
}

// add writes one file. fill writes its text, which must be clean.
func (b *bundle) add(name, what string, fill func(w io.Writer) error) error {
	w, err := b.zip.CreateHeader(&zip.FileHeader{Name: "acp-shim-report/" + name, Method: zip.Deflate, Modified: time.Now()})
	if err != nil {
		return err
	}
	if err := fill(w); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	b.files = append(b.files, bundled{name: name, what: what})
	return nil
}

// text adds a text, line by line without its secrets.
func (b *bundle) text(name, what, text string) error {
	return b.add(name, what, func(w io.Writer) error {
		_, err := io.WriteString(w, b.scrub.text(text))
		return err
	})
}

// json adds a JSON document without its secrets.
func (b *bundle) json(name, what string, print func(w io.Writer) error) error {
	var text strings.Builder
	if err := print(&text); err != nil {
		return err
	}
	return b.add(name, what, func(w io.Writer) error {
		_, err := w.Write(b.scrub.json([]byte(text.String())))
		return err
	})
}

func (c reportCmd) fill(b *bundle) error {
	set, wrong := c.settings()
	if set == nil {
		return wrong
	}
	b.scrub = newScrubber(set)
	s := &shim{set: set}
	if path := s.statePath(); path != "" {
		s.state = state.At(path)
	}
	fmt.Fprintln(os.Stderr, "looking at the machine and the agent ...")
	all, err := c.examine(func(doctor.Finding) {})
	if err != nil {
		return err
	}
	result := newDoctorResult(all)
	list, err := shims(s.state)
	if err != nil {
		list = nil // doctor has told
	}
	var doctorText strings.Builder
	p := &doctorPrinter{painter: &painter{w: &doctorText}}
	for _, f := range all {
		p.finding(f)
	}
	p.summary(result)
	steps := []error{
		b.text("doctor.txt", "what acp-shim doctor says", doctorText.String()),
		b.json("doctor.json", "the same, for programs", result.print),
		b.json("status.json", "what acp-shim status says", func(w io.Writer) error { return printStatusJSON(w, list) }),
		b.json("settings.json", "the settings in effect, secrets replaced", func(w io.Writer) error { return printSettings(w, set) }),
		c.log(b, s.logOptions().File),
		c.capture(b, set, list),
		b.text("about.txt", "what is in here", b.about()),
	}
	return errors.Join(steps...)
}

// log adds the end of the log.
func (c reportCmd) log(b *bundle, path string) error {
	if path == "" {
		b.missing = append(b.missing, "the log: none is written")
		return nil
	}
	text, err := tailOf(path, logTail)
	if err != nil {
		b.missing = append(b.missing, "the log: "+because(err))
		return nil
	}
	return b.text("log.txt", "the end of the log", string(text))
}

// capture adds the end of a capture.
func (c reportCmd) capture(b *bundle, set *settings.Settings, list []status.Shim) error {
	if c.NoCapture {
		b.missing = append(b.missing, "a capture: none was wanted")
		return nil
	}
	path := c.Capture
	if path == "" {
		path = newestCapture(expandHome(set.Record), list)
	}
	if path == "" {
		b.missing = append(b.missing, "a capture: none was found; make one with --record DIR in the editor's command, or name one with --capture")
		return nil
	}
	tail, cut, err := captureTail(path, captureMax)
	if err != nil && c.Capture == "" {
		b.missing = append(b.missing, "the capture "+tilde(path)+": "+err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	what := "the capture " + filepath.Base(path)
	if cut {
		what = fmt.Sprintf("the last %d MiB of %s", captureMax>>20, what)
	}
	if err := b.add("capture.jsonl", what, func(w io.Writer) error { return b.scrub.capture(w, tail) }); err != nil {
		return err
	}
	b.files[len(b.files)-1].talk = true
	return nil
}

func because(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return tilde(p.Path) + ": " + p.Err.Error()
	}
	return err.Error()
}

// tell says what was written, and what to do before it is sent.
func (b *bundle) tell(p *painter, name string) {
	size := int64(0)
	if info, err := os.Stat(name); err == nil {
		size = info.Size()
	}
	p.line(p.paint(bold, shown(name)) + fmt.Sprintf("  %d KiB, for this user only", (size+1023)>>10))
	talk := false
	for _, f := range b.files {
		p.line("  " + fmt.Sprintf("%-14s", f.name) + p.paint(dim, " "+shown(f.what)))
		talk = talk || f.talk
	}
	for _, m := range b.missing {
		p.line("  " + p.paint(dim, "not in it: "+shown(m)))
	}
	if talk {
		p.line(p.paint(yellow, "The capture holds a conversation: prompts, answers, and what tools have read and written."))
	}
	p.line("Look through it before you send it: what looks like a secret was replaced, but no program knows them all.")
}

//go:build unix

package record

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// leave puts a capture of an earlier run in a directory, so many hours old.
func leave(t *testing.T, dir, name string, hours int, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	b := []byte(text)
	if strings.HasSuffix(name, compressed) {
		b = zipped(t, text)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-time.Duration(hours) * time.Hour)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

// kept runs a writer in a directory until it has tidied up, and lists what is
// there beside its own file.
func kept(t *testing.T, path string, opt Options) []string {
	t.Helper()
	w, err := Create(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	w.keep.wg.Wait()
	own := filepath.Base(w.Path())
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(ls(t, filepath.Dir(w.Path())), func(n string) bool { return n == own })
}

const (
	run1 = "20260101T000000.000Z-1-agy"
	run2 = "20260102T000000.000Z-1-agy"
	run3 = "20260103T000000.000Z-1-agy-2"
)

// TestKeeperCompresses what earlier runs have left, and nothing else.
func TestKeeperCompresses(t *testing.T) {
	dir := t.TempDir()
	s := sample(t)
	leave(t, dir, run1+".jsonl", 5, s)
	leave(t, dir, run2+".part002.jsonl", 4, s[:len(s)-9]) // torn by a kill
	leave(t, dir, run3+".jsonl", 3, "no capture\n")
	leave(t, dir, "mine.jsonl", 3, s)
	leave(t, dir, run1+".redacted.jsonl", 3, s)
	if err := os.Symlink("mine.jsonl", filepath.Join(dir, "20260104T000000.000Z-1-agy.jsonl")); err != nil {
		t.Fatal(err)
	}
	other, err := Create(dir, Options{Agent: "live"})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.Frame(note(1))
	got := kept(t, dir+"/", Options{Compress: true})
	want := []string{
		run1 + ".jsonl.zst", run1 + ".redacted.jsonl", run2 + ".part002.jsonl.zst", run3 + ".jsonl",
		"20260104T000000.000Z-1-agy.jsonl", "mine.jsonl", filepath.Base(other.Path()),
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if decoded(t, filepath.Join(dir, run1+".jsonl.zst")) != s || decoded(t, filepath.Join(dir, run2+".part002.jsonl.zst")) != s[:len(s)-9] {
		t.Error("what was compressed is something else")
	}
	info, err := os.Stat(filepath.Join(dir, run1+".jsonl.zst"))
	if err != nil || info.Mode().Perm() != 0o600 || time.Since(info.ModTime()) < 4*time.Hour {
		t.Errorf("%v, %v", info, err)
	}
}

// TestKeeperGoesOn where a kill has stopped it: with half of a file, or with both.
func TestKeeperGoesOn(t *testing.T) {
	dir := t.TempDir()
	s := sample(t)
	leave(t, dir, run1+".jsonl", 5, s)
	leave(t, dir, run1+".jsonl.zst.tmp", 5, "half")
	leave(t, dir, run2+".jsonl", 5, s)
	leave(t, dir, run2+".jsonl.zst", 5, s)
	got := kept(t, dir, Options{Compress: true})
	if want := []string{run1 + ".jsonl.zst", run2 + ".jsonl.zst"}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	if decoded(t, filepath.Join(dir, run1+".jsonl.zst")) != s {
		t.Error("half of it is left")
	}
}

// TestKeeperIsStopped: the end of a run does not wait for it, and it leaves the
// file as it was.
func TestKeeperIsStopped(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, run1+".jsonl", 5, sample(t))
	s := &shelf{dir: dir, ext: ".jsonl"}
	k := newKeeper(s, Options{Compress: true})
	k.stop()
	f, info, err := s.claim(run1 + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := k.compress(f, info, filepath.Join(dir, run1+".jsonl")); err == nil {
		t.Error("it went on")
	}
	if got := ls(t, dir); !slices.Equal(got, []string{run1 + ".jsonl"}) {
		t.Errorf("it left %v", got)
	}
}

// TestKeeperMakesItsOwn: what somebody has put where the compressed file is made is not
// written to; the capture is in a file that is new.
func TestKeeperMakesItsOwn(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, run1+".jsonl", 5, sample(t))
	planted, err := os.OpenFile(filepath.Join(dir, run1+".jsonl"+compressed+".tmp"), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer planted.Close()
	if got := kept(t, dir, Options{Compress: true}); !slices.Equal(got, []string{run1 + ".jsonl" + compressed}) {
		t.Errorf("there is %v", got)
	}
	if info, err := planted.Stat(); err != nil || info.Size() > 0 {
		t.Errorf("what was there has %d bytes of the capture now, %v", info.Size(), err)
	}
}

// TestKeeperThatCannotSee says once that it looks after nothing.
func TestKeeperThatCannotSee(t *testing.T) {
	var told []error
	k := newKeeper(&shelf{dir: filepath.Join(t.TempDir(), "gone")}, Options{Compress: true, KeepSize: 1, Warn: func(err error) { told = append(told, err) }})
	k.tidy()
	k.tidy()
	if len(told) != 1 || !strings.Contains(told[0].Error(), "older captures are left as they are") {
		t.Errorf("it told %v", told)
	}
}

func TestKeepAge(t *testing.T) {
	dir := t.TempDir()
	s := sample(t)
	leave(t, dir, run1+".jsonl.zst", 50, s)
	leave(t, dir, run2+".jsonl", 49, s)
	leave(t, dir, run3+".jsonl", 47, s)
	leave(t, dir, "mine.jsonl", 500, s)
	leave(t, dir, "20260104T000000.000Z-1-agy.jsonl", 500, "no capture\n")
	leave(t, dir, "20260104T000000.000Z-1-agy.txt", 500, s)
	leave(t, dir, "20260104T000000.000Z-1-agy.redacted.jsonl", 500, s)
	got := kept(t, dir, Options{KeepAge: 48 * time.Hour})
	want := []string{run3 + ".jsonl", "20260104T000000.000Z-1-agy.jsonl", "20260104T000000.000Z-1-agy.redacted.jsonl", "20260104T000000.000Z-1-agy.txt", "mine.jsonl"}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// TestKeepSize counts what is live, and never removes it.
func TestKeepSize(t *testing.T) {
	dir := t.TempDir()
	s := sample(t)
	live, err := Create(dir, Options{Agent: "live"})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	for n := range 100 {
		live.Frame(note(n))
	}
	for live.flush.file.(osFile).size(t) < int64(4*len(s)) {
		time.Sleep(time.Millisecond)
	}
	old := time.Now().Add(-100 * time.Hour)
	if err := os.Chtimes(live.Path(), old, old); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{run1, run2, run3} {
		leave(t, dir, name+".jsonl", 9-i, s)
	}
	got := kept(t, dir, Options{KeepSize: live.flush.file.(osFile).size(t) + 3*int64(len(s))/2 + 200})
	want := []string{run3 + ".jsonl", filepath.Base(live.Path())}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func (f osFile) size(t *testing.T) int64 {
	n, err := f.Size()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNamedFile: beside a file that was given by its name only its own parts are
// touched.
func TestNamedFile(t *testing.T) {
	dir := t.TempDir()
	s := sample(t)
	path := filepath.Join(dir, "c.jsonl")
	leave(t, dir, run1+".jsonl", 500, s)
	leave(t, dir, "d-"+run1+".part001.jsonl", 500, s)
	leave(t, dir, "c-notes.jsonl", 500, s)
	leave(t, dir, "c-"+run1+".part001.jsonl.zst", 500, s)
	leave(t, dir, "c-"+run2+".part002.jsonl", 5, s)
	w, err := Create(path, Options{Compress: true, RotateSize: 1000, KeepAge: 48 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		w.Frame(note(n))
	}
	for !strings.Contains(w.Path(), ".part002") {
		time.Sleep(time.Millisecond)
	}
	w.keep.wg.Wait()
	last := w.Path()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	stem, _, _ := strings.Cut(filepath.Base(last), ".part")
	want := []string{
		run1 + ".jsonl", "c-" + run2 + ".part002.jsonl.zst", "c-notes.jsonl", "d-" + run1 + ".part001.jsonl",
		stem + ".part001.jsonl.zst", filepath.Base(last),
	}
	slices.Sort(want)
	if got := ls(t, dir); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, from := range []string{last, filepath.Join(dir, stem+".part001.jsonl.zst")} {
		parts, err := Parts(from)
		if err != nil || len(parts) != 2 || filepath.Base(parts[0]) != stem+".part001.jsonl.zst" || parts[1] != last {
			t.Errorf("parts of %s: %v, %v", from, parts, err)
		}
	}
	accounts(t, entries(t, joined(t, partsOf(t, last))))
	if parts, err := Parts(filepath.Join(dir, "c-notes.jsonl")); err != nil || len(parts) != 1 {
		t.Errorf("a capture in one file has the parts %v, %v", parts, err)
	}
	if _, err := Parts(filepath.Join(dir, "nothing")); err == nil {
		t.Error("nothing has parts")
	}
}

// TestNamedFileTwice: a second shim that is given the same name writes beside it, in
// parts of its own, and touches nobody else's either.
func TestNamedFileTwice(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, run1+".jsonl", 500, sample(t))
	path := filepath.Join(dir, "c.jsonl")
	opt := Options{Compress: true, RotateSize: 1000, KeepAge: 48 * time.Hour}
	one, two := open(t, path, opt), open(t, path, opt)
	for _, w := range []*Writer{one, two} {
		for n := range 20 {
			w.Frame(note(n))
		}
	}
	for _, w := range []*Writer{one, two} {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []*Writer{one, two} {
		list := entries(t, joined(t, partsOf(t, w.Path())))
		if lost, _ := accounts(t, list); lost != 0 || len(list) != 22 {
			t.Errorf("%s: %d entries", w.Path(), len(list))
		}
	}
	if one.Path() == two.Path() || !slices.Contains(ls(t, dir), run1+".jsonl") {
		t.Errorf("%s, %s in %v", one.Path(), two.Path(), ls(t, dir))
	}
}

// TestShimsInOneDirectory has several, some after others, that rotate, compress and
// tidy up all at once: every run is there to its last line.
func TestShimsInOneDirectory(t *testing.T) {
	dir := t.TempDir()
	var last []string
	for range 2 {
		var cmds []*exec.Cmd
		var outs []*bufio.Reader
		for range 3 {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "RECORD_TEST_UNTIL_END="+dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			cmds, outs = append(cmds, cmd), append(outs, bufio.NewReader(out))
		}
		for i, cmd := range cmds {
			line, _ := outs[i].ReadString('\n')
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			path, err, _ := strings.Cut(strings.TrimSpace(line), " ")
			if err != "<nil>" {
				t.Fatal(line)
			}
			last = append(last, path)
		}
	}
	for _, path := range last {
		list := entries(t, joined(t, partsOf(t, path)))
		if lost, _ := accounts(t, list); lost != 0 || len(list) != 502 {
			t.Errorf("%s: %d entries, %d lost", path, len(list), lost)
		}
	}
}

package install

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// two are builds 1.2.1 and, in use, 1.3.0.
func two(t *testing.T) *world {
	w := newWorld(t)
	file := w.file(stamped, zipOf(t, good()))
	w.must(Request{File: file})
	w.must(Request{File: file, Build: "1.3.0"})
	return w
}

func TestUse(t *testing.T) {
	w := two(t)
	r := w.in.Root
	if b, err := r.Use("1.2.1"); err != nil || !b.Current || r.Current() != "1.2.1" {
		t.Errorf("build %+v, error %v", b, err)
	}
	_, err := r.Use("9.9.9")
	fails(t, err, "there is no build 9.9.9", "1.2.1")
	_, err = r.Use("../x")
	fails(t, err, "is no name for a build")
	os.Remove(filepath.Join(r.build("1.3.0"), serverPar))
	_, err = r.Use("1.3.0")
	fails(t, err, "has no agy_acp_server.par in it")
	if r.Current() != "1.2.1" {
		t.Errorf("in use is %s", r.Current())
	}
	_, err = At(filepath.Join(w.dir, "none")).Use("1")
	fails(t, err, "none is installed")
}

func TestCurrentOfOthers(t *testing.T) {
	w := two(t)
	r := w.in.Root
	link := filepath.Join(r.dir, currentLink)
	for target, want := range map[string]string{r.build("1.2.1"): "1.2.1", "./1.2.1/": "1.2.1", "/somewhere/else": "", "../x": "", "1.2.1/lib": ""} {
		os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if got := r.Current(); got != want {
			t.Errorf("a link to %s is the build %q", target, got)
		}
	}
}

func TestRemove(t *testing.T) {
	w := two(t)
	r := w.in.Root
	_, err := r.Remove("1.3.0", false)
	fails(t, err, "is the one in use", "--force")
	if _, err := r.Remove("1.2.1", false); err != nil {
		t.Fatal(err)
	}
	_, err = r.Remove("1.2.1", false)
	fails(t, err, "there is no build 1.2.1")
	if _, err := r.Remove("1.3.0", true); err != nil {
		t.Fatal(err)
	}
	w.isLeft()
	if entries, _ := os.ReadDir(r.dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestVerify(t *testing.T) {
	w := two(t)
	r := w.in.Root
	dir := r.build("1.2.1")
	for _, err := range []error{
		os.WriteFile(filepath.Join(dir, serverPar), []byte(good()[0].text[:10]+"!"+good()[0].text[11:]), 0o755),
		os.Remove(filepath.Join(dir, harness)),
		os.WriteFile(filepath.Join(dir, "lib", "x.txt"), []byte("longer text"), 0o644),
		os.WriteFile(filepath.Join(dir, "lib", "more"), nil, 0o644),
		os.Symlink("/etc/passwd", filepath.Join(dir, "link")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if runtime.GOOS != "windows" {
		os.Chmod(filepath.Join(dir, serverPar), 0o700)
	}
	m, list, err := r.Verify(context.Background(), "1.2.1", nil)
	if err != nil || m.Build != "1.2.1" {
		t.Fatalf("manifest %v, error %v", m, err)
	}
	got := map[string]int{}
	for _, d := range list {
		got[d.Kind+" "+d.Path]++
	}
	want := []string{"changed " + serverPar, "missing " + harness, "changed lib/x.txt", "extra lib/more", "extra link"}
	if runtime.GOOS != "windows" {
		want = append(want, "mode "+serverPar)
	}
	for _, k := range want {
		if got[k] != 1 {
			t.Errorf("%q is not told of: %v", k, list)
		}
	}
	if len(list) != len(want) {
		t.Errorf("%d are told of, want %d: %v", len(list), len(want), list)
	}
	if _, list, err := r.Verify(context.Background(), "1.3.0", nil); err != nil || len(list) != 0 {
		t.Errorf("the other build: %v, %v", list, err)
	}
}

func TestVerifyWithoutARecord(t *testing.T) {
	w := two(t)
	r := w.in.Root
	path := filepath.Join(r.build("1.2.1"), manifestFile)
	for text, want := range map[string]string{"": "is damaged", `{"format":1,"archive":{"sha256":"ab"}}`: "is damaged", `{"format":7}`: "has the format 7"} {
		os.WriteFile(path, []byte(text), 0o644)
		_, _, err := r.Verify(context.Background(), "1.2.1", nil)
		fails(t, err, want, "--force")
	}
	os.Remove(path)
	_, _, err := r.Verify(context.Background(), "1.2.1", nil)
	fails(t, err, "was not installed by acp-shim")
	b, err := r.Find("1.2.1")
	if err != nil || b.Problem == "" || b.Size == 0 || b.SHA256 == "" || b.Server == "" {
		t.Errorf("build %+v, error %v", b, err)
	}
}

func TestVerifyDoesNotLeaveTheBuild(t *testing.T) {
	w := two(t)
	dir := w.in.Root.build("1.2.1")
	m, err := readManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	m.Files = append(m.Files, File{Path: "../1.3.0/" + serverPar, Mode: "0755"})
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	_, list, err := w.in.Root.Verify(context.Background(), "1.2.1", nil)
	if err != nil || len(list) != 1 || list[0].Kind != "missing" {
		t.Errorf("drift %v, error %v", list, err)
	}
}

func TestStamps(t *testing.T) {
	for file, want := range map[string]Stamp{
		stamped:                                  {"1.2.1", "linux-x86_64"},
		"agy-acp-server-1.2.1-linux-arm64.zip":   {"1.2.1", "linux-aarch64"},
		"agy-acp-server-1.2.1-darwin-arm64.zip":  {"1.2.1", "darwin-aarch64"},
		"agy-acp-server-a-b-c-windows-amd64.zip": {"a-b-c", "windows-x86_64"},
		"agy-acp-server-linux-x86_64.zip":        {},
		"agy-acp-server-1.2.1-plan9-x86_64.zip":  {},
		"agy-acp-server-1.2.1-linux-x86_64.tgz":  {},
		"agy-acp-server-.zip":                    {},
		"":                                       {},
	} {
		if got, ok := ReadStamp(file); got != want || ok != (want != Stamp{}) {
			t.Errorf("%q: %+v, %v", file, got, ok)
		}
	}
	for _, c := range [][3]string{{"linux", "amd64", "linux-x86_64"}, {"darwin", "arm64", "darwin-aarch64"}} {
		if got := platform(c[0], c[1]); got != c[2] {
			t.Errorf("%v: %s", c, got)
		}
	}
}

// TestSwapThatWasKilled has the next installation put the build back that was out of
// its place, and take away what was on its way out or in.
func TestSwapThatWasKilled(t *testing.T) {
	w := two(t)
	r := w.in.Root
	if err := os.Rename(r.build("1.2.1"), filepath.Join(r.dir, ".old-1.2.1-77")); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".gone-1.1.1-77", ".new-1.2.1-77", ".old-1.3.0-77", ".old-x"} {
		if err := os.Mkdir(filepath.Join(r.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.must(Request{File: w.file(stamped, zipOf(t, good())), Build: "1.3.0"})
	if _, drift, err := r.Verify(context.Background(), "1.2.1", nil); err != nil || len(drift) > 0 {
		t.Errorf("it is not back: %v %v", drift, err)
	}
	if list, _ := filepath.Glob(filepath.Join(r.dir, ".*")); len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
}

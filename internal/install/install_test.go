package install

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestInstallFromFile(t *testing.T) {
	w := newWorld(t)
	b := zipOf(t, good())
	r := w.must(Request{File: w.file(stamped, b)})
	w.isLeft(installed...)
	if r.Manifest.Build != "1.2.1" || r.Manifest.Archive.SHA256 != sum(b) || r.Manifest.Archive.Checked || !r.Harness || r.Current != "1.2.1" || r.Before != "" {
		t.Errorf("result %+v, manifest %+v", r, r.Manifest)
	}
	line, err := os.ReadFile(filepath.Join(r.Dir, hashFile))
	if want := sum(b) + "  " + stamped + "\n"; err != nil || string(line) != want {
		t.Errorf("zip.sha256 has %q, want %q", line, want)
	}
	if runtime.GOOS != "windows" {
		for name, want := range map[string]string{serverPar: "0755", harness: "0755", "lib/x.txt": "0644", hashFile: "0644", manifestFile: "0644", ".": "0755"} {
			st, err := os.Stat(filepath.Join(r.Dir, name))
			if err != nil || modeText(st.Mode()) != want {
				t.Errorf("%s: mode %v, want %s", name, st.Mode(), want)
			}
		}
	}
	if text, _ := os.ReadFile(filepath.Join(w.in.Root.dir, "current", serverPar)); string(text) != good()[0].text {
		t.Errorf("through the link there is %q", text)
	}
	_, drift, err := w.in.Root.Verify(context.Background(), "1.2.1", nil)
	if err != nil || len(drift) != 0 {
		t.Errorf("drift %v, error %v", drift, err)
	}
}

func TestInstallStripsOneDirectory(t *testing.T) {
	w := newWorld(t)
	list := good()
	for i := range list {
		list[i].name = "agy-acp-server/" + list[i].name
	}
	list = append([]ent{{"agy-acp-server/", "", os.ModeDir | 0o755}}, list...)
	w.must(Request{File: w.file(stamped, zipOf(t, list))})
	w.isLeft(installed...)
}

func TestInstallOfANameThatIsNoLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such file can be made there")
	}
	w := newWorld(t)
	b := zipOf(t, good())
	r := w.must(Request{File: w.file("a\nb.zip", b), Build: "1.2.1"})
	if line, _ := os.ReadFile(filepath.Join(r.Dir, hashFile)); string(line) != sum(b)+"  1.2.1.zip\n" {
		t.Errorf("zip.sha256 has %q", line)
	}
}

func TestInstallWithoutHarness(t *testing.T) {
	w := newWorld(t)
	if r := w.must(Request{File: w.file(stamped, zipOf(t, good()[:1]))}); r.Harness {
		t.Error("it says that there is a harness")
	}
}

func TestInstallForWindows(t *testing.T) {
	w := newWorld(t)
	w.must(Request{File: w.file("agy-acp-server-1.2.1-windows-arm64.zip", zipOf(t, []ent{{serverExe, "MZ", 0}, {harness + ".exe", "MZ", 0}})), Platform: "windows-aarch64"})
	w.isLeft("1.2.1/agy_acp_server.exe", "1.2.1/install.json", "1.2.1/localharness_external.exe", "1.2.1/zip.sha256", "current -> 1.2.1")
}

func TestInstallNames(t *testing.T) {
	for _, c := range []struct {
		name  string
		file  string
		req   Request
		build string
		fails string
	}{
		{"from the file's name", stamped, Request{}, "1.2.1", ""},
		{"a build with the arch of macOS", "agy-acp-server-1.3.0-darwin-arm64.zip", Request{Platform: "darwin-aarch64"}, "1.3.0", ""},
		{"RC01", "agy-acp-server-agy_acp_server_20260818_01_RC01-linux-x86_64.zip", Request{}, "agy_acp_server_20260818_01_RC01", ""},
		{"given", "server.zip", Request{Build: "mine"}, "mine", ""},
		{"given instead of the file's", stamped, Request{Build: "mine"}, "mine", ""},
		{"not known", "server.zip", Request{}, "", "name it with --build"},
		{"another platform", "agy-acp-server-1.3.0-linux-arm64.zip", Request{}, "", "give --platform linux-aarch64"},
		{"a separator", "server.zip", Request{Build: "../x"}, "", "begins or ends with a dot"},
		{"a separator inside", "server.zip", Request{Build: "a/x"}, "", "it has '/' in it"},
		{"dots", "server.zip", Request{Build: ".."}, "", "begins or ends with a dot"},
		{"the link's", "server.zip", Request{Build: "Current"}, "", "the link to the build in use is called that"},
		{"too long", "server.zip", Request{Build: strings.Repeat("x", 101)}, "", "longer than 100 bytes"},
		{"control", "server.zip", Request{Build: "a\x1b[2J"}, "", `it has '\x1b' in it`},
		{"no hash", stamped, Request{SHA256: "abc"}, "", "64 hexadecimal digits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.req.File = w.file(c.file, zipOf(t, good()))
			r, err := w.install(c.req)
			if c.fails != "" {
				fails(t, err, c.fails)
				w.nothing()
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.Manifest.Build != c.build || filepath.Base(r.Dir) != c.build {
				t.Errorf("build %q in %s", r.Manifest.Build, r.Dir)
			}
		})
	}
}

func TestInstallHash(t *testing.T) {
	b := zipOf(t, good())
	w := newWorld(t)
	file := w.file(stamped, b)
	_, err := w.install(Request{File: file, SHA256: strings.Repeat("0", 64)})
	fails(t, err, "has the sha256 "+sum(b), "nothing was installed")
	w.nothing()
	if r := w.must(Request{File: file, SHA256: strings.ToUpper(sum(b))}); !r.Manifest.Archive.Checked {
		t.Error("it does not say that the hash was checked")
	}
}

func TestInstallAgain(t *testing.T) {
	w := newWorld(t)
	file := w.file(stamped, zipOf(t, good()))
	first := w.must(Request{File: file})
	if r := w.must(Request{File: file}); !r.Already || !r.Manifest.Installed.Equal(first.Manifest.Installed) {
		t.Errorf("the second time: %+v", r)
	}

	// Drift is mended.
	if err := os.WriteFile(filepath.Join(first.Dir, harness), []byte("changed"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := w.must(Request{File: file}); r.Already || len(r.Repaired) != 1 || r.Repaired[0].Path != harness {
		t.Errorf("repair: %+v", r)
	}
	w.isLeft(installed...)

	// Another archive for the same build is not what was asked for.
	list := good()
	list[0].text = "another"
	other := w.file("other.zip", zipOf(t, list))
	_, err := w.install(Request{File: other, Build: "1.2.1"})
	fails(t, err, "build 1.2.1 is installed from an archive with the sha256 "+first.Manifest.Archive.SHA256, "--force")
	w.isLeft(installed...)
	if text, _ := os.ReadFile(filepath.Join(first.Dir, serverPar)); string(text) != good()[0].text {
		t.Error("the build was touched")
	}
	w.must(Request{File: other, Build: "1.2.1", Force: true})
	if text, _ := os.ReadFile(filepath.Join(first.Dir, serverPar)); string(text) != "another" {
		t.Error("the build was not replaced")
	}
	w.isLeft(installed...)
}

func TestInstallOverWhatNobodyRecorded(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.in.Root.dir, "1.2.1")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := w.file(stamped, zipOf(t, good()))
	_, err := w.install(Request{File: file})
	fails(t, err, "nobody recorded the hash", "--force")
	w.isLeft()

	// pi's layout has the hash, and no more.
	if err := os.WriteFile(filepath.Join(dir, hashFile), []byte(sum(zipOf(t, good()))+"  x.zip\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.must(Request{File: file})
	w.isLeft(installed...)
}

func TestInstallKeepsTheOldOnes(t *testing.T) {
	w := newWorld(t)
	file := w.file(stamped, zipOf(t, good()))
	w.must(Request{File: file})
	if r := w.must(Request{File: file, Build: "1.3.0", NoUse: true}); r.Current != "1.2.1" {
		t.Errorf("in use is %s", r.Current)
	}
	if r := w.must(Request{File: file, Build: "1.4.0"}); r.Current != "1.4.0" || r.Before != "1.2.1" {
		t.Errorf("in use is %s, before %s", r.Current, r.Before)
	}
	list, err := w.in.Root.Builds()
	if err != nil || len(list) != 3 {
		t.Fatalf("builds %v, error %v", list, err)
	}
}

func TestInstallDoesNotTouchAForeignCurrent(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.in.Root.dir, "current"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := w.must(Request{File: w.file(stamped, zipOf(t, good()))})
	fails(t, r.LinkError, "is no link, so it is not touched")
	if r.Current != "" {
		t.Errorf("in use is %s", r.Current)
	}
}

func TestInstallErrorsOfTheDisk(t *testing.T) {
	b := zipOf(t, good())
	t.Run("no room", func(t *testing.T) {
		w := newWorld(t)
		w.in.free = func(string) (uint64, error) { return 3, nil }
		_, err := w.install(Request{File: w.file(stamped, b)})
		fails(t, err, "where 3 bytes are free", "--root")
		w.nothing()
	})
	t.Run("a file in the way", func(t *testing.T) {
		w := newWorld(t)
		w.file("opt", nil)
		_, err := w.install(Request{File: w.file(stamped, b)})
		fails(t, err, "making ", "name another directory with --root")
	})
	t.Run("read-only", func(t *testing.T) {
		if os.Getuid() == 0 || runtime.GOOS == "windows" {
			t.Skip("nothing is read-only to this user")
		}
		w := newWorld(t)
		file := w.file(stamped, b)
		os.Chmod(w.dir, 0o555)
		defer os.Chmod(w.dir, 0o755)
		_, err := w.install(Request{File: file})
		fails(t, err, "permission denied", "--root")
		w.nothing()
	})
	t.Run("no archive", func(t *testing.T) {
		w := newWorld(t)
		_, err := w.install(Request{File: filepath.Join(w.dir, stamped)})
		fails(t, err, "no such file")
		w.nothing()
	})
	t.Run("a directory", func(t *testing.T) {
		w := newWorld(t)
		os.Mkdir(filepath.Join(w.dir, stamped), 0o755)
		_, err := w.install(Request{File: filepath.Join(w.dir, stamped)})
		fails(t, err, "is a directory")
		w.nothing()
	})
}

func TestInstallStopped(t *testing.T) {
	for _, stage := range []string{"check", "unpack"} {
		t.Run(stage, func(t *testing.T) {
			w := newWorld(t)
			ctx, cancel := context.WithCancel(context.Background())
			w.in.Progress = func(s Stage) {
				if s.Name == stage {
					cancel()
				}
			}
			_, err := w.in.Install(ctx, Request{File: w.file(stamped, zipOf(t, good())), Platform: "linux-x86_64"})
			fails(t, err, "context canceled")
			w.nothing()
		})
	}
}

func TestInstallTwoAtOnce(t *testing.T) {
	w := newWorld(t)
	file := w.file(stamped, zipOf(t, good()))
	var second error
	w.in.Progress = func(s Stage) {
		if s.Name == "unpack" && second == nil {
			_, second = New(w.in.Root).Install(context.Background(), Request{File: file, Platform: "linux-x86_64"})
		}
	}
	w.must(Request{File: file})
	fails(t, second, "another acp-shim agent command is at work in", "(pid ")
	w.isLeft(installed...)
}

func TestInstallSweepsWhatAKillHasLeft(t *testing.T) {
	w := newWorld(t)
	for _, d := range []string{".new-1.2.1-99999", ".gone-1.1.1-99999"} {
		os.MkdirAll(filepath.Join(w.in.Root.dir, d, "x"), 0o755)
	}
	os.Symlink("1.1.1", filepath.Join(w.in.Root.dir, ".current-99999"))
	w.must(Request{File: w.file(stamped, zipOf(t, good()))})
	w.isLeft(installed...)
	entries, _ := os.ReadDir(w.in.Root.dir)
	if len(entries) != 2 {
		t.Errorf("there is %v", entries)
	}
}

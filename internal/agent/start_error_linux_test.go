package agent

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// elfFile makes a program for a processor, with a loader.
func elfFile(machine elf.Machine, loader string) []byte {
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = 2, 1, 1
	n := uint64(len(loader) + 1)
	b, _ := binary.Append(nil, binary.LittleEndian, h)
	b, _ = binary.Append(b, binary.LittleEndian, elf.Prog64{
		Type: uint32(elf.PT_INTERP), Flags: uint32(elf.PF_R), Off: 120, Filesz: n, Memsz: n, Align: 1,
	})
	return append(append(b, loader...), 0)
}

func TestStartErrorsInWords(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	os.Mkdir(filepath.Join(dir, "agy"), 0o755)
	file("agy/agy_acp_server.par", "x", 0o755)
	os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "dangling"))
	os.Symlink("loop", filepath.Join(dir, "loop"))
	host, foreign, foreignName := elf.EM_X86_64, elf.EM_AARCH64, "arm64"
	if hostArch() == "arm64" {
		host, foreign, foreignName = elf.EM_AARCH64, elf.EM_X86_64, "amd64"
	}
	script := file("ok.sh", "#!/bin/sh\nexit 0\n", 0o755)
	file("notexec.par", "#!/bin/sh\n", 0o644)

	for _, c := range []struct {
		name, path, dir, words string
		err                    error
	}{
		{"missing", filepath.Join(dir, "ok.sj"), "", "not found: did you mean " + script + "?", syscall.ENOENT},
		{"missing, nothing like it", filepath.Join(dir, "zzzzzzzz"), "", "not found: " + dir + " has nothing of a similar name", syscall.ENOENT},
		{"directory missing", filepath.Join(dir, "no", "such", "agent"), "", "not found: there is no directory " + dir + "/no/such (" + dir + " is the last that is there)", syscall.ENOENT},
		{"below a file", filepath.Join(script, "agent"), "", "not found: " + script + " is not a directory", syscall.ENOTDIR},
		{"dangling link", filepath.Join(dir, "dangling"), "", "it is a symbolic link to " + dir + "/gone, which is not there", syscall.ENOENT},
		{"link loop", filepath.Join(dir, "loop"), "", "its symbolic links go round in a circle, or its script interpreters are nested too deep", syscall.ELOOP},
		{"directory", filepath.Join(dir, "agy"), "", "it is a directory; did you mean " + dir + "/agy/agy_acp_server.par?", syscall.EACCES},
		{"mode", filepath.Join(dir, "notexec.par"), "", "it is not executable (mode 0644); make it so: chmod +x " + dir + "/notexec.par", syscall.EACCES},
		{"interpreter missing", file("i1", "#!/no/such/python3 -u\n", 0o755), "", "it is a script for /no/such/python3, which is not there", syscall.ENOENT},
		{"interpreter with CR", file("i2", "#!/bin/sh\r\nexit 0\r\n", 0o755), "", "it is a script for /bin/sh, which is not there (its first line ends in CR LF: save it with Unix line ends)", syscall.ENOENT},
		{"interpreter not executable", file("i3", "#!"+dir+"/notexec.par\n", 0o755), "", "it is a script for " + dir + "/notexec.par, which is not executable", syscall.EACCES},
		{"loader missing", file("e1", string(elfFile(host, "/lib/ld-musl-nowhere.so.1")), 0o755), "", "it needs the loader /lib/ld-musl-nowhere.so.1, which is not there (a program built for another Linux: glibc or musl?)", syscall.ENOENT},
		{"wrong processor", file("e2", string(elfFile(foreign, "/lib/ld.so")), 0o755), "", "it is built for " + foreignName + ", this machine is " + hostArch(), syscall.ENOEXEC},
		{"empty", file("x1", "", 0o755), "", "the file is empty (a broken download?)", syscall.ENOEXEC},
		{"no #!", file("x2", "echo hello\n", 0o755), "", "it is neither a program nor a script with a #! line", syscall.ENOEXEC},
		{"zip", file("x3", "PK\x03\x04....", 0o755), "", "it is neither a program nor a script with a #! line (it is a zip archive: unpack it)", syscall.ENOEXEC},
		{"web page", file("x4", "\n<!DOCTYPE html>", 0o755), "", "it is neither a program nor a script with a #! line (it looks like a web page: a failed download?)", syscall.ENOEXEC},
		{"for macOS", file("x5", "\xcf\xfa\xed\xfe\x0c\x00\x00\x01", 0o755), "", "it is a program for macOS, this is Linux", syscall.ENOEXEC},
		{"for Windows", file("x6", "MZ\x90\x00", 0o755), "", "it is a program for Windows, this is Linux", syscall.ENOEXEC},
		{"working directory missing", script, filepath.Join(dir, "nowhere"), "its working directory " + dir + "/nowhere does not exist", syscall.ENOENT},
		{"working directory a file", script, script, "its working directory " + script + " is not a directory", syscall.ENOTDIR},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Start(Spec{Path: c.path, Dir: c.dir})
			var se *StartError
			if !errors.As(err, &se) {
				t.Fatalf("error %v", err)
			}
			if se.Words != c.words || !errors.Is(err, c.err) {
				t.Errorf("got  %s (%v)\nwant %s (%v)", se.Words, se.Err, c.words, c.err)
			}
			if want := "cannot start the agent " + c.path + ": " + c.words; err.Error() != want {
				t.Errorf("error %q, want %q", err, want)
			}
		})
	}
	if _, err := Start(Spec{Path: script, RunID: "a:b"}); err == nil || !strings.Contains(err.Error(), "run id") {
		t.Errorf("a run id that would spoil the marks: %v", err)
	}
	_, err := Start(Spec{Path: script, ExtraEnv: []string{"BIG=" + strings.Repeat("x", 8<<20)}})
	if err == nil || !strings.Contains(err.Error(), "too large (0 arguments, 8192 KiB of environment)") &&
		!strings.Contains(err.Error(), "too large (0 arguments, 8") {
		t.Errorf("a large environment: %v", err)
	}
}

func TestStartTextBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "busy")
	// A script is never busy, so it must be a program.
	b, err := os.ReadFile("/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, err = Start(Spec{Path: path})
	if !errors.Is(err, syscall.ETXTBSY) || !strings.Contains(err.Error(), "being written") {
		t.Errorf("error %v", err)
	}
	f.Close()
	p, err := Start(Spec{Path: path})
	if err != nil {
		t.Fatalf("after it was written: %v", err)
	}
	<-p.Done()
	p.Release()
	<-p.Gone()
}

func TestStartNoexecMount(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", unix.MS_NOEXEC, "size=1m"); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	path := filepath.Join(dir, "agent")
	os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755)
	_, err := Start(Spec{Path: path})
	if err == nil || !strings.Contains(err.Error(), "mounted noexec") {
		t.Errorf("error %v", err)
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	before := openFiles(t)
	for range 5 {
		if _, err := Start(Spec{Path: filepath.Join(tmp, "none"), PrivateTemp: true}); err == nil {
			t.Fatal("started")
		}
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	if left, _ := os.ReadDir(tmp); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	t.Setenv("TMPDIR", filepath.Join(tmp, "none"))
	_, err := Start(Spec{Path: "/bin/sh", PrivateTemp: true})
	if err == nil || !strings.Contains(err.Error(), "temporary directory") {
		t.Errorf("without a place for its temporary directory: %v", err)
	}
}

package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"acp-shim/internal/agent"
)

const mib = 1 << 20

func (x *Exam) shim() []Finding {
	where := fmt.Sprintf("acp-shim %s, %s", x.Version, x.tilde(x.Exe))
	if d := agent.Depth(x.Getenv); d > 0 {
		return one(warning("%s; this shell was started by an agent behind a shim (depth %d)", where, d).
			remedy("look from a terminal of your own: what is found here may be different there"))
	}
	path, err := x.LookPath("acp-shim")
	if err != nil {
		return one(warning("%s, is not on PATH", where).
			remedy("name it by its whole path in the editor, or link it into a directory on PATH: ln -s %s ~/.local/bin/", x.Exe))
	}
	if a, err := os.Stat(path); err == nil {
		if b, err := os.Stat(x.Exe); err == nil && !os.SameFile(a, b) {
			return one(warning("%s, but acp-shim on PATH is another file, %s", where, x.tilde(path)).
				remedy("remove one of them, or name the one that is meant by its whole path in the editor"))
		}
	}
	return one(ok("%s", where))
}

func (x *Exam) config() []Finding {
	switch {
	case x.ConfigErr != nil:
		return one(problem("%s", x.ConfigErr).remedy("correct it: the shim does not start with it; acp-shim help run has the settings"))
	case x.Config == "":
		return one(ok("no config file: all settings are the defaults, or variables"))
	}
	return one(ok("%s", x.tilde(x.Config)))
}

func (x *Exam) state() []Finding {
	if x.StateDir == "" {
		return one(warning("there is no place for a state directory: sessions are neither remembered nor locked").
			remedy("set HOME, or name one with --state-dir"))
	}
	info, err := os.Stat(x.StateDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if up := x.above(x.StateDir); !x.Writable(up) {
			return one(problem("the state directory %s cannot be made: %s is not writable", x.tilde(x.StateDir), x.tilde(up)).
				remedy("name another one with --state-dir, or ACP_SHIM_STATE_DIR"))
		}
		return one(ok("%s, made when it is needed", x.tilde(x.StateDir)))
	case err != nil:
		return one(problem("the state directory %s: %s", x.tilde(x.StateDir), because(err)).remedy("name another one with --state-dir"))
	case !info.IsDir():
		return one(problem("%s is no directory, and no state can be kept in it", x.tilde(x.StateDir)).remedy("name another one with --state-dir"))
	case !x.Writable(x.StateDir):
		return one(problem("the state directory %s is not writable: sessions are neither remembered nor locked", x.tilde(x.StateDir)).
			remedy("chmod u+rwx %s, or name another one with --state-dir", x.StateDir))
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		dir := x.StateDir
		f := warning("the state directory %s can be read by others (mode %04o)", x.tilde(dir), info.Mode().Perm()).remedy("chmod 700 %s", dir)
		if !strings.Contains(filepath.Base(dir), "acp-shim") {
			// Somebody has named a directory that may hold other things, as /tmp does.
			return one(f.remedy("name one with --state-dir that is the shim's alone; or, if this one is, chmod 700 %s", dir))
		}
		return one(f.fix(func() error { return os.Chmod(dir, 0o700) }))
	}
	return one(ok("%s", x.tilde(x.StateDir)))
}

// above is the nearest directory over a path that is there.
func (x *Exam) above(path string) string {
	for up := filepath.Dir(path); ; up = filepath.Dir(up) {
		if info, err := os.Stat(up); err == nil && info.IsDir() || up == filepath.Dir(up) {
			return up
		}
	}
}

// because is an error without the path, which stands before it.
func because(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// logMax is the size of all logs together above which somebody should know. A
// shim that logs little writes some kilobytes a day.
const logMax = 256 * mib

func (x *Exam) log() []Finding {
	if x.LogFile == "" {
		return one(ok("no log is written"))
	}
	dir := filepath.Dir(x.LogFile)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		dir = x.above(dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() || !x.Writable(dir) {
		return one(problem("no log can be written to %s", x.tilde(x.LogFile)).remedy("chmod u+rwx %s, or name another file with --log-file", dir))
	}
	var size int64
	files, _ := filepath.Glob(x.LogFile + "*")
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
	}
	if size > logMax {
		return one(warning("%s and the days before it take %d MiB", x.tilde(x.LogFile), size/mib).
			remedy("remove those that are not needed, or log less with --log-level=warn"))
	}
	if len(files) == 0 {
		return one(ok("%s, not written yet", x.tilde(x.LogFile)))
	}
	return one(ok("%s, %d KiB", x.tilde(x.LogFile), (size+1023)>>10))
}

func (x *Exam) capture() []Finding {
	if x.Record == "" {
		return one(ok("nothing is recorded; --record DIR does"))
	}
	dir := x.Record
	if info, err := os.Stat(dir); err != nil && !strings.HasSuffix(dir, string(filepath.Separator)) || err == nil && !info.IsDir() {
		dir = filepath.Dir(dir)
	}
	there := dir
	if _, err := os.Stat(dir); err != nil {
		there = x.above(dir)
	}
	if info, err := os.Stat(there); err != nil || !info.IsDir() || !x.Writable(there) {
		return one(problem("no capture can be written to %s: %s is not writable", x.tilde(x.Record), x.tilde(there)).
			remedy("name another place with --record"))
	}
	if free, err := x.Free(there); err == nil && free < 64*mib {
		return one(warning("captures go to %s, where %d MiB are free", x.tilde(x.Record), free/mib).
			remedy("make space, or bound them with --record-keep-size"))
	}
	return one(ok("captures go to %s", x.tilde(x.Record)))
}

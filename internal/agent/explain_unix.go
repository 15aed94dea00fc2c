//go:build unix

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// explain puts the error of a start into words. The system's own are short and
// sometimes misleading: a program whose loader is missing is "not found", though
// it is there.
func explain(s Spec, err error) error {
	e := &StartError{Path: s.Path, Err: err}
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		e.Words = err.Error()
		return e
	}
	if s.Dir != "" {
		// The child's chdir fails with the same error as its exec.
		if words := dirWords(s.Dir); words != "" {
			e.Words = words
			return e
		}
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		e.Words = missingWords(s.Path)
	case syscall.EACCES, syscall.EPERM:
		e.Words = deniedWords(s.Path, errno)
	case syscall.ENOEXEC, errBadExec, errBadArch, syscall.EINVAL:
		e.Words = formatWords(s.Path, errno)
	case syscall.ETXTBSY:
		e.Words = "the file is being written (an installation or an update?); try again when that is done"
	case syscall.EISDIR:
		e.Words = "it is a directory"
	case syscall.ELOOP:
		e.Words = "its symbolic links go round in a circle, or its script interpreters are nested too deep"
	case syscall.E2BIG:
		e.Words = fmt.Sprintf("its arguments and environment are too large (%d arguments, %d KiB of environment)",
			len(s.Args), envSize(childEnv(s, ""))>>10)
	case syscall.EAGAIN:
		e.Words = "this user has too many processes (see ulimit -u)"
	case syscall.ENOMEM:
		e.Words = "the system has no memory left for it"
	case syscall.EMFILE, syscall.ENFILE:
		e.Words = "too many files are open (see ulimit -n)"
	default:
		e.Words = errno.Error()
	}
	return e
}

func envSize(env []string) int {
	n := 0
	for _, kv := range env {
		n += len(kv) + 1
	}
	return n
}

// dirWords says what is wrong with a working directory, or nothing.
func dirWords(dir string) string {
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, syscall.ENOENT):
		return fmt.Sprintf("its working directory %s does not exist", dir)
	case err != nil:
		return fmt.Sprintf("its working directory %s cannot be entered: %v", dir, errors.Unwrap(err))
	case !st.IsDir():
		return fmt.Sprintf("its working directory %s is not a directory", dir)
	case syscall.Access(dir, 1) != nil:
		return fmt.Sprintf("its working directory %s cannot be entered: permission denied", dir)
	}
	return ""
}

func missingWords(path string) string {
	if _, err := os.Stat(path); err != nil {
		if st, err := os.Lstat(path); err == nil && st.Mode()&os.ModeSymlink != 0 {
			target, _ := os.Readlink(path)
			return fmt.Sprintf("it is a symbolic link to %s, which is not there", target)
		}
		return "not found" + nearest(path)
	}
	// The file is there, so something that it needs is not.
	im := readImage(path)
	switch {
	case im.script && im.interpreter != "":
		return fmt.Sprintf("it is a script for %s, which is not there%s", im.interpreter, im.crHint())
	case im.interpreter != "":
		return fmt.Sprintf("it needs the loader %s, which is not there (a program built for another Linux: glibc or musl?)", im.interpreter)
	}
	return "the file is there, but something that it needs to start is not"
}

func deniedWords(path string, errno syscall.Errno) string {
	st, err := os.Stat(path)
	if err != nil {
		for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(dir); err == nil {
				return fmt.Sprintf("permission denied: the directory %s cannot be entered by this user", dir)
			}
			if dir == filepath.Dir(dir) {
				return "permission denied"
			}
		}
	}
	switch {
	case st.IsDir():
		return "it is a directory" + serverInside(path)
	case !st.Mode().IsRegular():
		return "it is not a regular file"
	case st.Mode().Perm()&0o111 == 0:
		return fmt.Sprintf("it is not executable (mode %04o); make it so: chmod +x %s", st.Mode().Perm(), path)
	case noexecMount(path):
		return "it lies on a file system that is mounted noexec; install it elsewhere"
	}
	if im := readImage(path); im.script && im.interpreter != "" {
		if st, err := os.Stat(im.interpreter); err == nil && (st.IsDir() || st.Mode().Perm()&0o111 == 0) {
			return fmt.Sprintf("it is a script for %s, which is not executable", im.interpreter)
		}
	}
	if syscall.Access(path, 1) != nil {
		return fmt.Sprintf("this user may not execute it (mode %04o)", st.Mode().Perm())
	}
	return errno.Error() + ", though its mode allows it (a security policy?)"
}

func formatWords(path string, errno syscall.Errno) string {
	im := readImage(path)
	switch {
	case im.size == 0:
		return "the file is empty (a broken download?)"
	case im.system != "" && im.system != hostSystem():
		return fmt.Sprintf("it is a program for %s, this is %s", im.system, hostSystem())
	case im.arch != "" && im.arch != hostArch():
		return fmt.Sprintf("it is built for %s, this machine is %s", im.arch, hostArch())
	case im.system == "":
		return "it is neither a program nor a script with a #! line" + im.guess
	}
	return errno.Error() + " (a broken download?)"
}

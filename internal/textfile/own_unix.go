//go:build unix

package textfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// owned tells whose something is, and whether that is the user or root.
func owned(info fs.FileInfo) (uid int, own bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, true
	}
	return int(st.Uid), int(st.Uid) == os.Geteuid() || st.Uid == 0
}

func open(info fs.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

func public(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

// openOwn follows a link only where the user or root has made it, such as /dev/stderr,
// and tells that it did.
func openOwn(path string, flag int) (f *os.File, followed bool, err error) {
	f, err = os.OpenFile(path, flag|syscall.O_NOFOLLOW|noWait, 0o600)
	if !errors.Is(err, syscall.ELOOP) {
		return f, false, err
	}
	info, err2 := os.Lstat(path)
	if err2 != nil {
		return nil, false, err
	}
	if uid, own := owned(info); !own {
		return nil, false, fmt.Errorf("%s is a symbolic link of another user's (uid %d), so that it is not followed; choose another name", path, uid)
	}
	f, err = os.OpenFile(path, flag|noWait, 0o600)
	return f, true, err
}

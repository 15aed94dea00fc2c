//go:build unix

package textfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// distrust says why what is in a file may be somebody else's doing; nil where only the
// user and root can have written it. A group is left to the user: many systems give
// each user one of its own, and files are made writable for it.
func distrust(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0 {
		return nil
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("%s can be written by everybody (mode %04o), so that it is not used; chmod o-w it", path, info.Mode().Perm())
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() && st.Uid != 0 {
		return fmt.Errorf("%s belongs to another user (uid %d), so that it is not used; make a copy of your own", path, st.Uid)
	}
	return nil
}

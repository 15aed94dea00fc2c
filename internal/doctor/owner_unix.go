//go:build unix

package doctor

import (
	"io/fs"
	"os"
	"syscall"
)

// mine tells that a file is this user's: the directory for temporary files is
// everybody's.
func mine(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

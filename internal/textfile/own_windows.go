package textfile

import (
	"io/fs"
	"os"
)

// Who may write where is left to the directories, whose lists of access keep others
// out of a user's own.

func owned(fs.FileInfo) (uid int, own bool) { return 0, true }

func open(fs.FileInfo) bool { return false }

func public(fs.FileInfo) bool { return false }

func openOwn(path string, flag int) (f *os.File, followed bool, err error) {
	f, err = os.OpenFile(path, flag, 0o600)
	return f, false, err
}

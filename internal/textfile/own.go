package textfile

import (
	"fmt"
	"io/fs"
	"os"
)

// Owned tells that a file is the user's or root's; where files have no owners it always
// is.
func Owned(info fs.FileInfo) bool {
	_, own := owned(info)
	return own
}

// PrivateDir makes a directory that only the user can look into where it is missing. One
// that others can put files into, or that belongs to somebody else, is refused: what is
// opened there may be a link to any file of the user's.
func PrivateDir(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	link, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if uid, own := owned(link); !own && link.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link of another user's (uid %d), so that nothing is kept where it leads; choose another directory", path, uid)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if uid, own := owned(info); !own {
		return fmt.Errorf("%s belongs to another user (uid %d), so that nothing is kept in it; choose another directory", path, uid)
	}
	if open(info) {
		return fmt.Errorf("everybody can put files into %s (mode %04o), so that nothing is kept in it; chmod o-w it", path, info.Mode().Perm())
	}
	return nil
}

// OpenOwn opens a file to write to, and makes it where it is missing and flag has
// os.O_CREATE. In a directory that others can write to, one that they have put there is
// refused, be it a link, a file, or a pipe that they read; one of the user's that others
// can read is made private.
func OpenOwn(path string, flag int) (*os.File, error) {
	f, followed, err := openOwn(path, flag)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	regular := info.Mode().IsRegular()
	// Where a link of the user's leads to a pipe, that is whoever's the user wants it to
	// be, as of standard error. Devices are root's to make.
	if !regular && (followed || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0) {
		return f, nil
	}
	if uid, own := owned(info); !own {
		f.Close()
		return nil, fmt.Errorf("%s belongs to another user (uid %d), so that it is not written to; choose another name", path, uid)
	}
	if regular && public(info) {
		_ = f.Chmod(0o600) // where it is root's, it stays as root has it
	}
	return f, nil
}

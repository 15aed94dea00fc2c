// Package textfile reads small files, such as people write, and replaces them whole.
// It owns the bound on their size, and that nobody sees half of one; it must not
// know what is in them.
package textfile

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Max is the size in bytes of the largest file that is read. What is larger is
// none of these, and a device would have no end.
const Max = 16 << 20

// Read reads a file whole. Its error names the path. A pipe that nobody writes to is
// empty, and is not waited for.
func Read(path string) ([]byte, error) { return read(path, nil) }

// ReadOwn is Read for what decides over what is run and where secrets go: a file that
// others than the user and root can have written is refused.
func ReadOwn(path string) ([]byte, error) { return read(path, distrust) }

func read(path string, check func(string, fs.FileInfo) error) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if check != nil {
		info, err := f.Stat()
		if err == nil {
			err = check(path, info)
		}
		if err != nil {
			return nil, err
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, Max+1))
	if err == nil && len(b) > Max {
		err = fmt.Errorf("%s is larger than %d MiB", path, Max>>20)
	}
	return b, err
}

// Package textfile reads the files that people write: settings and lists of
// servers. It owns the bound on their size, and nothing of what is in them.
package textfile

import (
	"fmt"
	"io"
	"os"
)

// Max is the size in bytes of the largest file that is read. What is larger is
// none of these, and a device would have no end.
const Max = 16 << 20

// Read reads a file whole. Its error names the path. A pipe that nobody writes to is
// empty, and is not waited for.
func Read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, Max+1))
	if err == nil && len(b) > Max {
		err = fmt.Errorf("%s is larger than %d MiB", path, Max>>20)
	}
	return b, err
}

package rewrite

import (
	"fmt"
	"io"
	"os"
)

// fileMost is the largest file of settings that is read. What is larger is none,
// and a device would have no end.
const fileMost = 16 << 20

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, fileMost+1))
	if err == nil && len(b) > fileMost {
		err = fmt.Errorf("%s is larger than %d MiB", path, fileMost>>20)
	}
	return b, err
}

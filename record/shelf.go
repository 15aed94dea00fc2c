package record

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// compressed is what the name of a compressed capture ends in.
const compressed = ".zst"

// shelf is where the files of one run are, and what the writers of a directory
// call theirs.
type shelf struct {
	dir string
	// stem and ext are those of the run's files. prefix is what the names of
	// writers' files begin with, of this run's and others': the name that was
	// asked for, "" in a directory.
	stem, ext, prefix string
	// named tells that the first file has the very name that was asked for.
	named bool
}

// newShelf is the shelf of a run whose first file is path, where asked was asked
// for.
func newShelf(path, asked string, directory bool, opt Options) *shelf {
	dir, base := filepath.Split(path)
	ext := filepath.Ext(base)
	s := &shelf{dir: filepath.Clean(dir + "."), stem: strings.TrimSuffix(base, ext), ext: ext, named: path == asked}
	if s.named {
		// Nobody else, in whichever container, may have the same.
		s.stem += "-" + runName(opt) + "-" + newRun()[:6]
	}
	if !directory {
		s.prefix = strings.TrimSuffix(filepath.Base(asked), ext) + "-"
	}
	return s
}

// part is the path of the run's nth file, from 2.
func (s *shelf) part(n int) string {
	return filepath.Join(s.dir, fmt.Sprintf("%s.part%03d%s", s.stem, n, s.ext))
}

// open makes the run's nth file.
func (s *shelf) open(n int) (file, string, error) {
	path := s.part(n)
	f, err := openFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return nil, "", err
	}
	lock(f)
	return osFile{f}, path, nil
}

var writersName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z-\d+-[A-Za-z0-9._-]+?(\.part\d{3,})?$`)
})

// ours reports whether a file was named by a writer: in a directory by what
// [Create] calls it; beside a file that was asked for by name, by that file's name
// before it. What somebody has named himself is never touched, and neither is
// what was redacted, which somebody has a use for.
func (s *shelf) ours(name string) bool {
	name, begins := strings.CutPrefix(strings.TrimSuffix(name, compressed), s.prefix)
	name, ends := strings.CutSuffix(name, s.ext)
	return begins && ends && !strings.HasSuffix(name, ".redacted") && writersName().MatchString(name)
}

// isCapture reports whether a file begins as a capture does.
func isCapture(f io.ReaderAt, size int64) bool {
	in, end, err := plain(bufio.NewReader(io.NewSectionReader(f, 0, size)))
	if err != nil {
		return false
	}
	defer end()
	line, long, err := readLine(in, 1<<20)
	if long || err != nil || len(line) < 2 {
		return false
	}
	e, err := parse(line)
	return err == nil && e.Header != nil
}

// Parts are the files of the run that the capture in path belongs to, in their
// order: a long run may have been written to several, see
// [Options.RotateSize]. They are found by their names, compressed or not; a capture
// in one file is its own only part.
func Parts(path string) ([]string, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("looking for the parts of a capture: %w", err)
	}
	dir, base := filepath.Split(path)
	base = strings.TrimSuffix(base, compressed)
	ext := filepath.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	if i := strings.LastIndex(stem, ".part"); i >= 0 {
		if _, err := strconv.Atoi(stem[i+5:]); err == nil {
			stem = stem[:i]
		}
	}
	list, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return nil, fmt.Errorf("looking for the parts of a capture: %w", err)
	}
	parts := map[int]string{}
	for _, f := range list {
		name, ok := strings.CutPrefix(strings.TrimSuffix(f.Name(), compressed), stem)
		if !ok || !f.Type().IsRegular() {
			continue
		}
		n := 1
		if name != ext {
			name, ok = strings.CutPrefix(strings.TrimSuffix(name, ext), ".part")
			if n, err = strconv.Atoi(name); !ok || err != nil || n < 1 {
				continue
			}
		}
		// Of two that say the same, left by a kill between two steps, one will do.
		if parts[n] == "" || strings.HasSuffix(f.Name(), compressed) {
			parts[n] = filepath.Join(dir, f.Name())
		}
	}
	numbers := make([]int, 0, len(parts))
	for n := range parts {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var paths []string
	for _, n := range numbers {
		paths = append(paths, parts[n])
	}
	if len(paths) == 0 {
		paths = []string{path}
	}
	return paths, nil
}

// errLive is why a file is left alone: somebody writes to it.
var errLive = errors.New("it is being written to")

// claim opens a file that a writer has left, and keeps others from it until it is
// closed.
func (s *shelf) claim(name string) (*os.File, os.FileInfo, error) {
	f, err := openFile(filepath.Join(s.dir, name), os.O_RDWR)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is no file")
	case !lock(f):
		err = errLive
	case !isCapture(f, info.Size()):
		err = errors.New("it is no capture")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

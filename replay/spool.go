package replay

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// spoolMemory is how much of the frames is kept in memory.
const spoolMemory = 16 << 20

// ref is where a line is in the spool.
type ref struct {
	off int64
	n   int32
}

// spool keeps lines: the first ones in memory, the others in a temporary file.
// A capture may be compressed, or come from a pipe, and cannot be read twice.
type spool struct {
	limit int64
	mem   []byte
	size  int64
	pend  []byte // not yet in the file
	file  *os.File
	name  string // of the file, where it could not be removed while open

	mu     sync.Mutex // readers are many, closing is once
	closed bool
}

func (s *spool) add(line []byte) (ref, error) {
	r := ref{s.size, int32(len(line))}
	s.size += int64(len(line))
	if s.file == nil && s.size <= s.limit {
		s.mem = append(s.mem, line...)
		return r, nil
	}
	if s.file == nil {
		f, err := os.CreateTemp("", "acp-shim-replay-")
		if err != nil {
			return r, fmt.Errorf("keeping the capture's frames in a temporary file: %w", err)
		}
		s.file = f
		if os.Remove(f.Name()) != nil {
			s.name = f.Name() // Windows keeps the name of an open file
		}
		s.limit = int64(len(s.mem))
	}
	if s.pend = append(s.pend, line...); len(s.pend) >= 1<<20 {
		return r, s.flush()
	}
	return r, nil
}

// flush ends the adding for now: what was added can be read.
func (s *spool) flush() error {
	if len(s.pend) == 0 {
		return nil
	}
	_, err := s.file.Write(s.pend)
	s.pend = s.pend[:0]
	if err != nil {
		return fmt.Errorf("keeping the capture's frames in a temporary file: %w", err)
	}
	return nil
}

// read gives a line in memory of its own.
func (s *spool) read(r ref) ([]byte, error) {
	b := make([]byte, r.n)
	if s.file == nil || r.off+int64(r.n) <= s.limit {
		copy(b, s.mem[r.off:])
		return b, nil
	}
	if n, err := s.file.ReadAt(b, r.off-s.limit); n < len(b) {
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("reading a frame of the capture again: %w", err)
	}
	return b, nil
}

func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.file == nil {
		s.closed = true
		return nil
	}
	s.closed = true
	err := s.file.Close()
	if s.name != "" {
		os.Remove(s.name)
	}
	return err
}

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"acp-shim/internal/status"
	"acp-shim/record"
)

const (
	// captureMax is how much of a capture is taken, and captureRead how much of a
	// compressed one is read for that, in bytes.
	captureMax  = 16 << 20
	captureRead = 8 << 30
	// headerMax is the longest header of a capture.
	headerMax = 1 << 20
)

// newestCapture is the capture that was written to last, of those that the settings
// or a running shim write; "" for none.
func newestCapture(setting string, list []status.Shim) string {
	var places []string
	if setting != "" {
		places = append(places, setting)
	}
	for _, s := range list {
		if s.Status != nil && s.Status.Recording != "" {
			places = append(places, s.Status.Recording)
		}
	}
	var best string
	var at time.Time
	for _, place := range places {
		for _, path := range capturesAt(place) {
			info, err := os.Stat(path)
			if err != nil || !info.Mode().IsRegular() || !info.ModTime().After(at) {
				continue
			}
			if c, err := record.Open(path); err == nil {
				c.Close()
				best, at = path, info.ModTime()
			}
		}
	}
	return best
}

// capturesAt are the captures in a directory, or the parts of one that is named.
func capturesAt(place string) []string {
	if info, err := os.Stat(place); err != nil || !info.IsDir() {
		parts, err := record.Parts(place)
		if err != nil {
			return []string{place}
		}
		return parts
	}
	files, _ := os.ReadDir(place)
	type dated struct {
		path string
		at   time.Time
	}
	var list []dated
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".zst")
		info, err := f.Info()
		if err == nil && filepath.Ext(name) == ".jsonl" && f.Type().IsRegular() {
			list = append(list, dated{filepath.Join(place, f.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b dated) int { return b.at.Compare(a.at) })
	var paths []string
	for _, d := range list[:min(len(list), 20)] {
		paths = append(paths, d.path)
	}
	return paths
}

// captureTail is the end of a capture behind its header, to be read more than once;
// cut tells that something before it was left out.
func captureTail(path string, limit int) (open func() (io.ReadCloser, error), cut bool, err error) {
	c, err := record.Open(path)
	if err != nil {
		return nil, false, err
	}
	c.Close()
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		path += ".zst" // compressed since
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	if !strings.HasSuffix(path, ".zst") && info.Size() <= int64(limit) {
		return func() (io.ReadCloser, error) { return os.Open(path) }, false, nil
	}
	var text []byte
	if strings.HasSuffix(path, ".zst") {
		text, cut, err = compressedTail(f, limit)
	} else {
		text, cut, err = plainTail(f, info.Size(), limit)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading %s: %w", path, err)
	}
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, cut, nil
}

func plainTail(f *os.File, size int64, limit int) ([]byte, bool, error) {
	header, err := firstLine(bufio.NewReaderSize(f, 64<<10))
	if err != nil {
		return nil, false, err
	}
	tail, err := io.ReadAll(io.NewSectionReader(f, size-int64(limit), int64(limit)))
	if err != nil {
		return nil, false, err
	}
	_, tail, _ = bytes.Cut(tail, []byte("\n"))
	return append(header, tail...), true, nil
}

// compressedTail reads a compressed capture to its end, or as far as it can be read:
// a torn one ends somewhere.
func compressedTail(f io.Reader, limit int) ([]byte, bool, error) {
	z, err := zstd.NewReader(io.LimitReader(f, captureRead), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20))
	if err != nil {
		return nil, false, err
	}
	defer z.Close()
	in := bufio.NewReaderSize(io.LimitReader(z, captureRead), 64<<10)
	header, err := firstLine(in)
	if err != nil {
		return nil, false, err
	}
	// Two halves: when one is full it takes the place of the older one.
	var older, newer []byte
	cut := false
	piece := make([]byte, 256<<10)
	for {
		n, err := in.Read(piece)
		newer = append(newer, piece[:n]...)
		if len(newer) >= limit {
			cut = cut || len(older) > 0
			older, newer = newer, nil
		}
		if err != nil {
			break
		}
	}
	tail := append(older, newer...)
	if len(tail) > limit {
		tail, cut = tail[len(tail)-limit:], true
	}
	if cut {
		_, tail, _ = bytes.Cut(tail, []byte("\n"))
	}
	return append(header, tail...), cut, nil
}

func firstLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, errors.New("it has no header")
		case len(line) > headerMax:
			return nil, errors.New("its header is too long")
		}
	}
}

package install

import (
	"acp-shim/internal/textfile"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Drift is how a file differs from what was installed.
type Drift struct {
	Path string `json:"path"`
	// Kind is missing, changed, mode or extra.
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// maxWalk bounds how many files of a build are looked at.
const maxWalk = 100_000

// Verify compares a build's files with its record. Progress is told how much of
// how much has been read.
func (r Root) Verify(ctx context.Context, name string, progress func(done, all int64)) (*Manifest, []Drift, error) {
	if _, err := r.Find(name); err != nil {
		return nil, nil, err
	}
	dir := r.build(name)
	m, err := readManifest(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("build %s cannot be verified: %w; install it again with --force", name, err)
	}
	drifts, err := verify(ctx, dir, m, progress)
	return m, drifts, err
}

func verify(ctx context.Context, dir string, m *Manifest, progress func(done, all int64)) ([]Drift, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", dir, textfile.Reason(err))
	}
	defer root.Close()
	var list []Drift
	add := func(path, kind, format string, args ...any) {
		list = append(list, Drift{path, kind, fmt.Sprintf(format, args...)})
	}
	known := map[string]bool{manifestFile: true, hashFile: true}
	var done int64
	all := m.Size()
	for _, f := range m.Files {
		known[f.Path] = true
		st, err := root.Lstat(filepath.FromSlash(f.Path))
		switch {
		case err != nil:
			add(f.Path, "missing", "is not there")
			continue
		case !st.Mode().IsRegular():
			add(f.Path, "changed", "is %s instead of a file", kindOf(st.Mode()))
			continue
		case st.Size() != f.Size:
			add(f.Path, "changed", "has %d bytes instead of %d", st.Size(), f.Size)
		default:
			sum, err := hashIn(ctx, root, filepath.FromSlash(f.Path), func(n int64) {
				if progress != nil {
					progress(done+n, all)
				}
			})
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err != nil {
				add(f.Path, "changed", "cannot be read: %v", textfile.Reason(err))
			} else if sum != f.SHA256 {
				add(f.Path, "changed", "has other content: sha256 %s instead of %s", sum, f.SHA256)
			}
		}
		done += f.Size
		if mode := modeText(st.Mode()); runtime.GOOS != "windows" && mode != f.Mode {
			add(f.Path, "mode", "has the mode %s instead of %s", mode, f.Mode)
		}
	}
	if hash := hashLine(dir); hash != m.Archive.SHA256 {
		add(hashFile, "changed", "does not have the archive's hash %s", m.Archive.SHA256)
	}
	n := 0
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n++; n > maxWalk {
			return fmt.Errorf("there are more than %d files", maxWalk)
		}
		if !d.IsDir() && !known[path] {
			add(path, "extra", "was not installed")
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("looking through %s: %w", dir, textfile.Reason(err))
	}
	slices.SortStableFunc(list, func(a, b Drift) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeSymlink != 0:
		return "a link"
	}
	return "no file"
}

func modeText(m fs.FileMode) string { return fmt.Sprintf("%04o", m.Perm()) }

// hashIn hashes a file; progress is told how much of it is done.
func hashIn(ctx context.Context, root *os.Root, path string, progress func(int64)) (string, error) {
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return hashOf(ctx, f, progress)
}

func hashOf(ctx context.Context, r io.Reader, progress func(int64)) (string, error) {
	h := sha256.New()
	if _, err := copyTo(ctx, h, r, progress); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// copyTo copies until the end or until the context is over.
func copyTo(ctx context.Context, w io.Writer, r io.Reader, progress func(int64)) (n int64, err error) {
	buf := make([]byte, 256<<10)
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		k, err := r.Read(buf)
		if k > 0 {
			if _, err := w.Write(buf[:k]); err != nil {
				return n, err
			}
			n += int64(k)
			if progress != nil {
				progress(n)
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

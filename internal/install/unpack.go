package install

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds on an archive. The real one has a server of 1.5 GB and a harness of
// 117 MB in it.
const (
	maxEntries  = 10_000
	maxUnpacked = 8 << 30
	// maxRatio bounds what an archive may grow to, once that is more than
	// ratioFrom: programs shrink to a third, zeros to a thousandth.
	maxRatio  = 100
	ratioFrom = 64 << 20
	// maxDirectory bounds the list of an archive's entries, which is read into
	// memory whole.
	maxDirectory = 8 << 20
)

// item is a file of an archive, under its name there without the single
// directory that everything may be in.
type item struct {
	name string
	file *zip.File
	mode fs.FileMode
}

// plan is what will be unpacked: all was looked at, nothing is written yet.
type plan struct {
	items  []item
	size   int64
	server string
	// harness tells that it is there.
	harness bool
}

// readArchive looks at all of an archive before anything is written.
func readArchive(r io.ReaderAt, size int64, platform string) (*plan, error) {
	g := &gate{ReaderAt: r, left: maxDirectory}
	z, err := zip.NewReader(g, size)
	if g.left < 0 {
		return nil, fmt.Errorf("the list of its entries is larger than %d MiB", maxDirectory>>20)
	}
	g.open = true
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) { // which is found here as well, with its name
		return nil, notZip(r, size, err)
	}
	if len(z.File) > maxEntries {
		return nil, fmt.Errorf("it has %d entries, more than %d", len(z.File), maxEntries)
	}
	p := &plan{}
	for _, f := range z.File {
		name, err := entryName(f)
		if err != nil {
			return nil, err
		}
		if f.Mode().IsDir() || strings.HasSuffix(f.Name, "/") {
			continue // made as they are needed
		}
		if f.UncompressedSize64 > maxUnpacked {
			return nil, tooBig(f.UncompressedSize64)
		}
		p.size += int64(f.UncompressedSize64)
		if p.size > maxUnpacked {
			return nil, tooBig(uint64(p.size))
		}
		p.items = append(p.items, item{name: name, file: f, mode: 0o644})
	}
	if p.size > ratioFrom && p.size/max(size, 1) > maxRatio {
		return nil, fmt.Errorf("it would grow from %s to %s, as no archive of programs does", Bytes(size), Bytes(p.size))
	}
	p.strip()
	if err := p.clashes(); err != nil {
		return nil, err
	}
	return p, p.modes(platform)
}

// gate is an archive of which only so much can be read until it is opened.
type gate struct {
	io.ReaderAt
	left int64
	open bool
}

func (g *gate) ReadAt(p []byte, at int64) (int, error) {
	if !g.open {
		if g.left -= int64(len(p)); g.left < 0 {
			return 0, zip.ErrFormat
		}
	}
	return g.ReaderAt.ReadAt(p, at)
}

func tooBig(n uint64) error {
	return fmt.Errorf("it unpacks to %s, more than %s", Bytes(int64(min(n, 1<<62))), Bytes(maxUnpacked))
}

// notZip says what a file is instead of an archive.
func notZip(r io.ReaderAt, size int64, err error) error {
	head := make([]byte, 16)
	n, _ := r.ReadAt(head, 0)
	head = head[:n]
	switch {
	case size == 0:
		return errors.New("it is empty")
	case strings.HasPrefix(string(head), "PK\x03\x04"):
		return errors.New("it begins like a zip archive and has no end: only a part of it is there")
	}
	text := strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && unicode.IsPrint(r) {
			return r
		}
		return '.'
	}, string(head))
	return fmt.Errorf("it is no zip archive (it begins with %q)", text)
}

// entryName checks an entry's name and kind.
func entryName(f *zip.File) (string, error) {
	bad := func(why string) (string, error) { return "", fmt.Errorf("its entry %q %s", clip(f.Name), why) }
	name := strings.TrimSuffix(f.Name, "/")
	switch {
	case name == "" || !utf8.ValidString(name) || len(name) > 1000:
		return bad("has no usable name")
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return bad("has control characters in its name")
	case strings.ContainsAny(name, `\:`):
		return bad("has a \\ or : in its name")
	case path.IsAbs(name) || path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)):
		return bad("would be unpacked to somewhere else")
	case slices.ContainsFunc(strings.Split(name, "/"), func(s string) bool { return len(s) > 255 || strings.TrimRight(s, ". ") != s }):
		return bad("has a name that not every system can hold")
	case f.Flags&1 != 0:
		return bad("is encrypted")
	}
	switch m := f.Mode(); {
	case m.IsDir() || m.IsRegular():
		return name, nil
	case m&fs.ModeSymlink != 0:
		return bad("is a link, which an archive of the server does not need")
	default:
		return bad("is neither a file nor a directory")
	}
}

// strip takes away the one directory that everything is in.
func (p *plan) strip() {
	top := ""
	for i, it := range p.items {
		dir, _, ok := strings.Cut(it.name, "/")
		if !ok || i > 0 && dir != top {
			return
		}
		top = dir
	}
	for i := range p.items {
		p.items[i].name = strings.TrimPrefix(p.items[i].name, top+"/")
	}
}

// clashes refuses two names that are one file somewhere, or a file and a
// directory of one name.
func (p *plan) clashes() error {
	files, dirs := map[string]string{}, map[string]string{}
	for _, it := range p.items {
		key := strings.ToLower(it.name)
		if other, ok := files[key]; ok {
			if other == it.name {
				return fmt.Errorf("its entry %q is there twice", clip(it.name))
			}
			return fmt.Errorf("its entries %q and %q are one file on some systems", clip(other), clip(it.name))
		}
		files[key] = it.name
		for d := path.Dir(it.name); d != "."; d = path.Dir(d) {
			if other, ok := dirs[strings.ToLower(d)]; ok && other != d {
				return fmt.Errorf("its directories %q and %q are one on some systems", clip(other), clip(d))
			}
			dirs[strings.ToLower(d)] = d
		}
	}
	for key, d := range dirs {
		if _, ok := files[key]; ok {
			return fmt.Errorf("its entry %q is a file and a directory", clip(d))
		}
	}
	for _, own := range []string{hashFile, manifestFile} {
		if other, ok := files[own]; ok {
			return fmt.Errorf("its entry %q has the name of a record of the installation", other)
		}
	}
	return nil
}

// modes finds the server and the harness, which must be executable whatever the
// archive says of them: some tools do not store that.
func (p *plan) modes(platform string) error {
	names := map[string]bool{}
	for _, it := range p.items {
		names[it.name] = true
	}
	for _, s := range servers(platform) {
		if p.server == "" && names[s] {
			p.server = s
		}
	}
	if p.server == "" {
		return fmt.Errorf("it has no %s in it: it is no archive of the Antigravity server for %s", servers(platform)[0], platform)
	}
	p.harness = hasHarness(func(n string) bool { return names[n] })
	for i, it := range p.items {
		if it.name == p.server || it.name == harness || it.name == harness+".exe" || it.file.Mode().Perm()&0o111 != 0 {
			p.items[i].mode = 0o755
		}
	}
	return nil
}

// unpack writes what was planned into an empty directory.
func (p *plan) unpack(ctx context.Context, dir string, progress func(done, all int64)) ([]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var files []File
	var done int64
	for _, it := range p.items {
		f, err := it.unpack(ctx, root, func(n int64) { progress(done+n, p.size) })
		if err != nil {
			return nil, err
		}
		done += f.Size
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

func (it item) unpack(ctx context.Context, root *os.Root, progress func(int64)) (File, error) {
	local := filepath.FromSlash(it.name)
	where := filepath.Join(root.Name(), local)
	if dir := filepath.Dir(local); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return File{}, writeError(where, err)
		}
	}
	r, err := it.file.Open()
	if err != nil {
		return File{}, fmt.Errorf("its entry %q cannot be read: %w", clip(it.name), err)
	}
	defer r.Close()
	w, err := root.OpenFile(local, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return File{}, writeError(where, err)
	}
	defer w.Close()
	h := sha256.New()
	want := int64(it.file.UncompressedSize64)
	n, err := copyTo(ctx, &both{h, w, where}, io.LimitReader(r, want+1), progress)
	var wrote *writeFailed
	switch {
	case ctx.Err() != nil:
		return File{}, ctx.Err()
	case errors.As(err, &wrote):
		return File{}, wrote.error
	case err != nil:
		return File{}, fmt.Errorf("its entry %q is damaged: %w", clip(it.name), err)
	case n != want:
		return File{}, fmt.Errorf("its entry %q has another size than it says", clip(it.name))
	}
	if err := w.Close(); err != nil {
		return File{}, writeError(where, err)
	}
	// Explicitly, whatever the umask says.
	if err := root.Chmod(local, it.mode); err != nil {
		return File{}, writeError(where, err)
	}
	return File{Path: it.name, Size: n, Mode: modeText(it.mode), SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

// writeFailed tells an error of writing from one of reading.
type writeFailed struct{ error }

// both hashes what it writes.
type both struct {
	h    io.Writer
	w    *os.File
	path string
}

func (b *both) Write(p []byte) (int, error) {
	b.h.Write(p)
	n, err := b.w.Write(p)
	if err != nil {
		err = &writeFailed{writeError(b.path, err)}
	}
	return n, err
}

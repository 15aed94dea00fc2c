package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"acp-shim/internal/textfile"
)

const downloads = ".download"

// MaxArchive is the size of the largest archive that is taken.
const MaxArchive = 4 << 30

// errTooLarge says that an archive is larger than MaxArchive.
var errTooLarge = errors.New("the archive is too large")

// part is an archive that has not arrived in full, kept to go on with.
type part struct {
	in      *Installer
	address *url.URL
	known   bool // the hash is known beforehand
	path    string
	size    int64
	total   int64 // -1 while not known
	etag    string
}

// sidecar says what a part is a part of. The address is hashed, since its query
// may be secret.
type sidecar struct {
	Address string `json:"address"`
	// Validator goes into If-Range: a strong ETag, or a date
	// (RFC 9110, section 13.1.5).
	Validator string `json:"validator"`
}

func (in *Installer) newPart(build string, address *url.URL, known bool) (*part, error) {
	dir := filepath.Join(in.Root.dir, downloads)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making %s: %w; name another directory with --root", dir, textfile.Reason(err))
	}
	return &part{in: in, address: address, known: known, path: filepath.Join(dir, build+".zip.part"), total: -1}, nil
}

func (p *part) sidecar() string { return p.path + ".json" }

// same asks whether an address still has the archive of an installed build, so
// that it need not be brought here to see that.
func (in *Installer) same(ctx context.Context, t *target, m *Manifest) bool {
	if t.address == nil || m.Source.ETag == "" || m.Source.URL != Plain(t.address) {
		return false
	}
	resp, err := in.ask(ctx, t.address, t.sha256 != "", http.Header{"If-None-Match": {m.Source.ETag}})
	if err != nil {
		return false // the download tells what is wrong
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusNotModified
}

// discard removes the part.
func (p *part) discard() {
	os.Remove(p.path)
	os.Remove(p.sidecar())
	os.Remove(filepath.Dir(p.path)) // if nothing else is in it
}

// settle says what is kept after a failure, and removes what is no use.
func (p *part) settle() string {
	st, err := os.Stat(p.path)
	if err != nil || st.Size() == 0 || p.validator() == "" {
		p.discard()
		return ""
	}
	return fmt.Sprintf("; %s are kept, the same command goes on from there", Bytes(st.Size()))
}

// validator is what the part's server said by which it knows it again.
func (p *part) validator() string {
	b, err := textfile.Read(p.sidecar())
	var s sidecar
	if err != nil || json.Unmarshal(b, &s) != nil || s.Address != p.key() {
		return ""
	}
	return s.Validator
}

func (p *part) key() string {
	sum := sha256.Sum256([]byte(p.address.String()))
	return hex.EncodeToString(sum[:])
}

// fetch brings the archive here in full.
func (p *part) fetch(ctx context.Context) error {
	return p.in.persist(ctx, func() int64 { return p.size }, func() error { return p.once(ctx) })
}

func (p *part) once(ctx context.Context) error {
	f, err := os.OpenFile(p.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("writing %s: %w", p.path, textfile.Reason(err))
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", p.path)
	}
	p.size = st.Size()
	header := http.Header{}
	validator := p.validator()
	if p.size > 0 && validator != "" {
		header.Set("Range", fmt.Sprintf("bytes=%d-", p.size))
		header.Set("If-Range", validator)
	}
	p.tell()
	resp, err := p.in.ask(ctx, p.address, p.known, header)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusOK:
		// All of it: nothing was asked for, or it is not what it was, or the
		// server does not know ranges.
		if err := p.restart(f); err != nil {
			return err
		}
		p.total = resp.ContentLength
	case http.StatusPartialContent:
		from, total, ok := contentRange(resp.Header.Get("Content-Range"))
		if !ok || from != p.size {
			return errors.Join(&passing{error: errors.New("the server sent another part than it was asked for")}, p.restart(f))
		}
		p.total = total
	case http.StatusRequestedRangeNotSatisfiable:
		if _, total, ok := contentRange(resp.Header.Get("Content-Range")); ok && total == p.size && p.size > 0 {
			return nil // it was complete
		}
		return errors.Join(&passing{error: errors.New("the server has less than is here already")}, p.restart(f))
	default:
		return statusError(resp)
	}
	if p.total > p.in.max {
		return p.tooLarge()
	}
	if err := p.note(resp); err != nil {
		return err
	}
	if _, err := f.Seek(p.size, io.SeekStart); err != nil {
		return err
	}
	if err := p.take(ctx, f, resp.Body); err != nil {
		return err
	}
	if p.total >= 0 && p.size != p.total {
		return &passing{error: fmt.Errorf("it broke off after %s of %s", Bytes(p.size), Bytes(p.total))}
	}
	return f.Close()
}

func (p *part) tooLarge() error {
	return fmt.Errorf("%w: more than %s", errTooLarge, Bytes(p.in.max))
}

func (p *part) restart(f *os.File) error {
	p.size = 0
	os.Remove(p.sidecar())
	return f.Truncate(0)
}

// note keeps by what the server will know the archive again. A weak ETag does
// not do: the bytes may differ.
func (p *part) note(resp *http.Response) error {
	v := resp.Header.Get("ETag")
	if strings.HasPrefix(v, "W/") || len(v) > 200 {
		v = ""
	}
	p.etag = v
	if v == "" {
		v = resp.Header.Get("Last-Modified")
	}
	b, err := json.Marshal(sidecar{p.key(), v})
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.sidecar(), b, 0o600); err != nil {
		return writeError(p.sidecar(), err)
	}
	return nil
}

func (p *part) take(ctx context.Context, f *os.File, body io.Reader) error {
	start := p.size
	_, err := copyTo(ctx, &fileWriter{f}, io.LimitReader(body, p.in.max-start+1), func(n int64) {
		p.size = start + n
		p.tell()
	})
	if err != nil {
		return err
	}
	if p.size > p.in.max {
		return p.tooLarge()
	}
	return nil
}

func (p *part) tell() {
	p.in.say(Stage{Name: "download", From: Plain(p.address), Done: p.size, All: p.total})
}

// fileWriter names the file in the errors of writing to it.
type fileWriter struct{ f *os.File }

func (w *fileWriter) Write(b []byte) (int, error) {
	n, err := w.f.Write(b)
	if err != nil {
		err = writeError(w.f.Name(), err)
	}
	return n, err
}

// writeError says what to do where the disk is full.
func writeError(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("writing %s: %w; make room, or name another directory with --root", path, textfile.Reason(err))
	}
	return fmt.Errorf("writing %s: %w", path, textfile.Reason(err))
}

// contentRange reads "bytes 5-9/10" and "bytes */10" (RFC 9110, section 14.4).
// A total that is not told is -1.
func contentRange(text string) (from, total int64, ok bool) {
	rest, ok1 := strings.CutPrefix(text, "bytes ")
	span, all, ok2 := strings.Cut(rest, "/")
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	total = -1
	if all != "*" {
		n, err := strconv.ParseInt(all, 10, 64)
		if err != nil || n < 0 {
			return 0, 0, false
		}
		total = n
	}
	if span == "*" {
		return 0, total, total >= 0
	}
	a, _, _ := strings.Cut(span, "-")
	from, err := strconv.ParseInt(a, 10, 64)
	return from, total, err == nil && from >= 0
}

// Bytes is a size for people.
func Bytes(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

package install

import (
	"acp-shim/internal/textfile"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"
)

// Stage is what an installation is doing.
type Stage struct {
	// Name is registry, download, check, unpack, verify or retry.
	Name string
	From string
	// Done and All are bytes; All is -1 where it is not known.
	Done, All int64
	// Note and Wait are a retry's: why, and after how long.
	Note string
	Wait time.Duration
}

// Request says what to install.
type Request struct {
	// File, URL and Registry name the archive, or the entry that names it; at
	// most one is set. With none it is Registry, the official one.
	File, URL, Registry string
	// Build names the build. From a registry it must be the one that it has.
	Build string
	// Platform is one of the registry's, like linux-x86_64; empty is this
	// machine's.
	Platform string
	// SHA256 is the archive's hash, where it is known.
	SHA256 string
	// Force replaces a build that came from another archive.
	Force bool
	// NoUse leaves the link current as it is, unless there is none.
	NoUse bool
}

// Result is what was done.
type Result struct {
	Manifest *Manifest
	Dir      string
	// Already tells that just this was installed before.
	Already bool
	// Repaired are the files in which the build had drifted.
	Repaired []Drift
	// Current is the build in use now, Before the one that was.
	Current, Before string
	// LinkError is why the link could not be switched, though the build is there.
	LinkError error
	Harness   bool
}

// Installer installs builds into a root.
type Installer struct {
	Root Root
	// Progress is told the stages, from one goroutine. It may be nil.
	Progress func(Stage)

	client *http.Client
	idle   time.Duration
	max    int64
	sleep  func(context.Context, time.Duration) error
	free   func(string) (uint64, error)
}

// New is an installer for a root.
func New(root Root) *Installer {
	return &Installer{Root: root, client: newClient(), idle: idleTimeout, max: MaxArchive, sleep: sleep, free: Free}
}

func (in *Installer) say(s Stage) {
	if in.Progress != nil {
		in.Progress(s)
	}
}

// target is the one archive that a request means.
type target struct {
	build   string
	address *url.URL // nil for a local file
	file    string
	name    string
	sha256  string
	source  Source
}

// resolve finds the archive that is meant. From here on no registry is asked.
func (in *Installer) resolve(ctx context.Context, req *Request) (*target, error) {
	if req.Platform == "" {
		req.Platform = Platform()
	}
	if req.Build != "" {
		if err := CheckName(req.Build); err != nil {
			return nil, err
		}
	}
	t := &target{build: req.Build}
	if req.SHA256 != "" {
		hash, err := ParseHash(req.SHA256)
		if err != nil {
			return nil, err
		}
		t.sha256 = hash
	}
	var stamp Stamp
	switch {
	case req.File != "":
		abs, err := filepath.Abs(req.File)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(abs); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: no such file", req.File)
		}
		t.file, t.name, t.source.File = abs, filepath.Base(abs), abs
		stamp, _ = ReadStamp(t.name)
	case req.URL != "":
		u, err := parseAddress(req.URL)
		if err != nil {
			return nil, err
		}
		t.address, t.name, t.source.URL = u, fileOf(u), Plain(u)
		stamp, _ = ReadStamp(t.name)
	default:
		o, where, err := in.lookUp(ctx, req)
		if err != nil {
			return nil, err
		}
		if err := t.offered(o, where); err != nil {
			return nil, err
		}
		stamp = o.stamp
	}
	if stamp.Platform != "" && stamp.Platform != req.Platform {
		return nil, fmt.Errorf("%s is for %s and not for %s; give --platform %s to install it all the same", t.name, stamp.Platform, req.Platform, stamp.Platform)
	}
	if t.build == "" {
		t.build = stamp.Build
	}
	if t.build == "" {
		return nil, fmt.Errorf("the name %q does not say which build it is (it would be agy-acp-server-BUILD-OS-ARCH.zip); name it with --build", clip(t.name))
	}
	if t.name == "" || len(t.name) > 255 || strings.ContainsFunc(t.name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.name = t.build + ".zip" // it is written down in a line
	}
	return t, CheckName(t.build)
}

// offered takes over what a registry has, if that is the build that was asked for.
func (t *target) offered(o offer, where string) error {
	if t.build != "" && t.build != o.stamp.Build && t.build != o.version {
		has := o.stamp.Build
		if has == "" {
			has = clip(o.version)
		}
		return fmt.Errorf("the registry %s now has the build %s and not %s; name the archive of another build with --url, or a file", where, has, t.build)
	}
	// The archive's own name for the build, so that it has one directory
	// whichever way it was asked for.
	if o.stamp.Build != "" {
		t.build = o.stamp.Build
	} else if t.build == "" {
		t.build = o.version
	}
	if t.sha256 == "" {
		t.sha256 = o.sha256
	} else if o.sha256 != "" && o.sha256 != t.sha256 {
		return fmt.Errorf("--sha256 is not the hash that the registry %s has for this archive (%s)", where, o.sha256)
	}
	t.address, t.name = o.address, fileOf(o.address)
	t.source = Source{URL: Plain(o.address), Registry: where, Version: o.version}
	return nil
}

// Install installs a build. After an error nothing of it is there, but for an
// archive that arrived in part, which the next try goes on with.
func (in *Installer) Install(ctx context.Context, req Request) (*Result, error) {
	t, err := in.resolve(ctx, &req)
	if err != nil {
		return nil, err
	}
	made, err := makeRoot(in.Root.dir)
	if err != nil {
		return nil, err
	}
	defer made.undo()
	unlock, err := in.Root.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	in.Root.sweep()
	dir := in.Root.build(t.build)
	if st, err := os.Lstat(dir); err == nil && !st.IsDir() {
		return nil, fmt.Errorf("%s is there and is no directory", dir)
	}
	hash := t.sha256
	if hash == "" && !req.Force {
		if m, err := readManifest(dir); err == nil && in.same(ctx, t, m) {
			hash = m.Archive.SHA256
		}
	}
	if r, err := in.already(ctx, t, &req, hash); r != nil || err != nil {
		return r, err
	}
	archive, close, err := in.obtain(ctx, t)
	if err != nil {
		return nil, err
	}
	defer close(false)
	r, err := in.place(ctx, t, &req, archive)
	if err != nil && (ctx.Err() != nil || errors.As(err, new(*spaceError))) {
		return nil, fmt.Errorf("%w%s", err, close(false))
	}
	close(true) // whatever else went wrong, it is of no use to another try
	return r, err
}

// already answers for a build that is there, from the archive with that hash.
func (in *Installer) already(ctx context.Context, t *target, req *Request, hash string) (*Result, error) {
	dir := in.Root.build(t.build)
	if _, err := os.Stat(dir); err != nil || hash == "" {
		return nil, nil
	}
	have := ArchiveHash(dir)
	if have != hash {
		if req.Force {
			return nil, nil
		}
		if have == "" {
			return nil, fmt.Errorf("build %s is in %s already, and nobody recorded the hash of its archive; give --force to replace it", t.build, in.Root.dir)
		}
		return nil, fmt.Errorf("build %s is installed from an archive with the sha256 %s, and this one has %s: a build should not change; give --force to replace it", t.build, have, hash)
	}
	m, err := readManifest(dir)
	if err != nil {
		return nil, nil // unpacked again, for the record
	}
	drift, err := verify(ctx, dir, m, func(done, all int64) { in.say(Stage{Name: "verify", Done: done, All: all}) })
	if err != nil {
		return nil, err
	}
	if len(drift) > 0 {
		return nil, nil
	}
	r := &Result{Manifest: m, Dir: dir, Already: true, Harness: in.Root.look(t.build).Harness}
	in.use(r, req)
	return r, nil
}

// place unpacks an archive beside and puts it in its place.
func (in *Installer) place(ctx context.Context, t *target, req *Request, a *archive) (*Result, error) {
	in.say(Stage{Name: "check", From: t.source.String(), All: a.size})
	hash, err := hashOf(ctx, a.reader(), func(n int64) { in.say(Stage{Name: "check", From: t.source.String(), Done: n, All: a.size}) })
	if err != nil {
		return nil, a.fault(ctx, "cannot be read", err)
	}
	if t.sha256 != "" && hash != t.sha256 {
		return nil, fmt.Errorf("%s has the sha256 %s and not %s: it is not the archive that was meant; nothing was installed", t.source, hash, t.sha256)
	}
	if t.sha256 == "" { // with it, this was asked before
		if r, err := in.already(ctx, t, req, hash); r != nil || err != nil {
			return r, err
		}
	}
	p, err := readArchive(a.file, a.size, req.Platform)
	if err != nil {
		return nil, a.fault(ctx, "is not installed", err)
	}
	if n, err := in.free(in.Root.dir); err == nil && n < uint64(p.size) {
		return nil, &spaceError{fmt.Errorf("build %s takes %s in %s, where %s are free; make room, or name another directory with --root", t.build, Bytes(p.size), in.Root.dir, Bytes(int64(n)))}
	}
	dir := in.Root.build(t.build)
	temp := filepath.Join(in.Root.dir, fmt.Sprintf(".new-%s-%d", t.build, os.Getpid()))
	if err := os.Mkdir(temp, 0o700); err != nil {
		return nil, writeError(temp, err)
	}
	defer os.RemoveAll(temp)
	files, err := p.unpack(ctx, temp, func(done, all int64) { in.say(Stage{Name: "unpack", Done: done, All: all}) })
	if err != nil {
		return nil, a.fault(ctx, "is not installed", err)
	}
	t.source.ETag = a.etag
	m := &Manifest{Format: format, Build: t.build, Platform: req.Platform, Installed: time.Now().UTC().Truncate(time.Second),
		Source: t.source, Archive: Archive{Name: t.name, Size: a.size, SHA256: hash, Checked: t.sha256 != ""}, Files: files}
	if err := m.write(temp); err != nil {
		return nil, writeError(temp, err)
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return nil, writeError(temp, err)
	}
	r := &Result{Manifest: m, Dir: dir, Harness: p.harness}
	if old, err := readManifest(dir); err == nil && old.Archive.SHA256 == hash {
		r.Repaired, _ = verify(ctx, dir, old, nil)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := in.Root.swap(temp, dir); err != nil {
		return nil, err
	}
	in.use(r, req)
	return r, nil
}

// swap puts a directory in another's place, which is removed.
func (r Root) swap(temp, dir string) error {
	old := filepath.Join(r.dir, fmt.Sprintf(".old-%s-%d", filepath.Base(dir), os.Getpid()))
	err := os.Rename(dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %s: %w", dir, textfile.Reason(err))
	}
	had := err == nil
	if err := os.Rename(temp, dir); err != nil {
		if had {
			os.Rename(old, dir)
		}
		return fmt.Errorf("putting %s in its place: %w", dir, textfile.Reason(err))
	}
	if had {
		os.RemoveAll(old)
	}
	return nil
}

// use switches the link, unless that was not wanted.
func (in *Installer) use(r *Result, req *Request) {
	r.Before = in.Root.Current()
	r.Current = r.Before
	if r.Before == r.Manifest.Build || req.NoUse && r.Before != "" {
		return
	}
	if r.LinkError = in.Root.point(r.Manifest.Build); r.LinkError == nil {
		r.Current = r.Manifest.Build
	}
}

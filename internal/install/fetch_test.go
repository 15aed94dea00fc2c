package install

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

// serve answers as a file server does.
func serve(w http.ResponseWriter, r *http.Request, body []byte, etag string, noRanges bool) {
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	if noRanges {
		w.Header().Set("Content-Length", itoa(len(body)))
		w.Write(body)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

const (
	partFile = ".download/1.2.1.zip.part"
	partNote = ".download/1.2.1.zip.part.json"
)

func TestDownload(t *testing.T) {
	b := zipOf(t, good())
	w, s := newWorld(t), newServer(t, b)
	r := w.must(Request{URL: s.archive() + "?sig=SECRET"})
	w.isLeft(installed...)
	text, _ := os.ReadFile(filepath.Join(r.Dir, manifestFile))
	if r.Manifest.Source.URL != s.archive() || strings.Contains(string(text), "SECRET") || r.Manifest.Archive.SHA256 != sum(b) {
		t.Errorf("the record: %s", text)
	}

	// The same again is asked for and not brought again.
	if r := w.must(Request{URL: s.archive() + "?sig=OTHER"}); !r.Already {
		t.Error("it was installed again")
	}
	if s.count() != 2 || s.header(1, "If-None-Match") != `"one"` {
		t.Errorf("%d requests", s.count())
	}

	// What is published there now under the same name is refused.
	list := good()
	list[0].text = "another"
	s.body, s.etag = zipOf(t, list), `"two"`
	_, err := w.install(Request{URL: s.archive()})
	fails(t, err, "is installed from an archive with the sha256 "+sum(b), "--force")
	w.isLeft(installed...)
}

func TestDownloadGoesOn(t *testing.T) {
	b := zipOf(t, append(good(), ent{"big", string(sumText(200_000)), 0o644}))
	half := len(b) / 2
	for _, c := range []struct {
		name    string
		change  func(*server)
		waits   int
		ranges  []string // of the requests
		ifRange string
	}{
		{"where the server knows ranges", func(s *server) { s.answers = []http.HandlerFunc{s.breaksAfter(half)} }, 1, []string{"", "bytes=" + itoa(half) + "-"}, `"one"`},
		{"where it does not", func(s *server) { s.noRanges = true; s.answers = []http.HandlerFunc{s.breaksAfter(half)} }, 1, []string{"", "bytes=" + itoa(half) + "-"}, `"one"`},
		{"where the archive has changed meanwhile", func(s *server) {
			first := s.breaksAfter(half)
			s.answers = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("ETag", `"zero"`)
				s.etag = ""
				defer func() { s.etag = `"one"` }()
				first(w, r)
			}}
		}, 1, []string{"", "bytes=" + itoa(half) + "-"}, `"zero"`},
		{"from the start without an ETag", func(s *server) { s.etag = ""; s.answers = []http.HandlerFunc{s.breaksAfter(half)} }, 1, []string{"", ""}, ""},
		{"from the start with a weak one", func(s *server) { s.etag = `W/"x"`; s.answers = []http.HandlerFunc{s.breaksAfter(half)} }, 1, []string{"", ""}, ""},
		{"after the wrong part", func(s *server) {
			s.answers = []http.HandlerFunc{s.breaksAfter(half), status(206, "Content-Range", "bytes 3-5/9")}
		}, 2, []string{"", "bytes=" + itoa(half) + "-", ""}, `"one"`},
		{"after being told that it has too much", func(s *server) {
			s.answers = []http.HandlerFunc{s.breaksAfter(half), status(416, "Content-Range", "bytes */3")}
		}, 2, []string{"", "bytes=" + itoa(half) + "-", ""}, `"one"`},
		{"after errors of the server", func(s *server) {
			s.answers = []http.HandlerFunc{status(503), status(429, "Retry-After", "7"), status(500)}
		}, 3, []string{"", "", "", ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := newWorld(t), newServer(t, b)
			c.change(s)
			r := w.must(Request{URL: s.archive()})
			if r.Manifest.Archive.SHA256 != sum(b) {
				t.Error("another archive was installed")
			}
			if len(w.waits) != c.waits {
				t.Errorf("it waited %v (%q)", w.waits, w.notes)
			}
			var ranges []string
			for i := range s.count() {
				ranges = append(ranges, s.header(i, "Range"))
			}
			if !slices.Equal(ranges, c.ranges) {
				t.Errorf("ranges %q, want %q", ranges, c.ranges)
			}
			if len(c.ranges) > 1 && s.header(1, "If-Range") != c.ifRange {
				t.Errorf("If-Range %q", s.header(1, "If-Range"))
			}
			if _, err := os.Stat(filepath.Join(w.in.Root.dir, downloads)); err == nil {
				t.Error("the part is there still")
			}
		})
	}
}

// sumText is text that does not shrink.
func sumText(n int) []byte {
	var b []byte
	for i := 0; len(b) < n; i++ {
		b = append(b, sum([]byte(itoa(i)))...)
	}
	return b[:n]
}

func TestDownloadWaitsAsItIsTold(t *testing.T) {
	w, s := newWorld(t), newServer(t, zipOf(t, good()))
	s.answers = []http.HandlerFunc{status(429, "Retry-After", "7"), status(503, "Retry-After", "9999"), status(503)}
	w.must(Request{URL: s.archive()})
	if want := []time.Duration{7 * time.Second, maxWait, 4 * time.Second}; !slices.Equal(w.waits, want) {
		t.Errorf("it waited %v, want %v", w.waits, want)
	}
}

func TestDownloadHalf(t *testing.T) {
	b := zipOf(t, append(good(), ent{"big", string(sumText(200_000)), 0o644}))
	half := len(b) / 2
	w, s := newWorld(t), newServer(t, b)
	s.answers = []http.HandlerFunc{s.breaksAfter(half)}
	for range maxTries {
		s.answers = append(s.answers, status(502))
	}
	_, err := w.install(Request{URL: s.archive() + "?sig=SECRET"})
	fails(t, err, "downloading "+s.archive()+": ", "502", "are kept, the same command goes on from there")
	w.isLeft(partFile, partNote)
	note, _ := os.ReadFile(filepath.Join(w.in.Root.dir, partNote))
	if strings.Contains(string(note), "SECRET") || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("the address is in %s, or in %v", note, err)
	}

	// The same command goes on.
	n := s.count()
	w.must(Request{URL: s.archive() + "?sig=SECRET"})
	w.isLeft(append(slices.Clone(installed[:1]), append([]string{"1.2.1/big"}, installed[1:]...)...)...)
	if s.header(n, "Range") != "bytes="+itoa(half)+"-" {
		t.Errorf("range %q", s.header(n, "Range"))
	}

	// A part of something else is not gone on with.
	s.body = append([]byte{}, b...)
	s.answers = []http.HandlerFunc{s.breaksAfter(half), status(404)}
	_, err = w.install(Request{URL: s.archive() + "?other", Build: "2.0.0"})
	fails(t, err, "404")
	n = s.count()
	w.must(Request{URL: s.archive() + "?yet-another", Build: "2.0.0"})
	if s.header(n, "Range") != "" {
		t.Errorf("range %q", s.header(n, "Range"))
	}
}

func TestDownloadComplete(t *testing.T) {
	// The archive arrived and could not be unpacked for want of room: it is not
	// brought a second time.
	b := zipOf(t, good())
	w, s := newWorld(t), newServer(t, b)
	w.in.free = func(string) (uint64, error) { return 0, nil }
	_, err := w.install(Request{URL: s.archive()})
	fails(t, err, "make room", "are kept")
	w.isLeft(partFile, partNote)
	w.in.free = func(string) (uint64, error) { return 1 << 40, nil }
	w.must(Request{URL: s.archive()})
	w.isLeft(installed...)
	if s.header(1, "Range") != "bytes="+itoa(len(b))+"-" {
		t.Errorf("range %q", s.header(1, "Range"))
	}
}

func TestDownloadFails(t *testing.T) {
	b := zipOf(t, good())
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, c := range []struct {
		name   string
		change func(*world, *server) Request
		want   string
		tries  int // waits
	}{
		{"no network", func(w *world, s *server) Request { return Request{URL: gone.URL + "/" + stamped + "?sig=SECRET"} }, "connection refused (tried 5 times)", 4},
		{"not there", func(w *world, s *server) Request { s.answers = []http.HandlerFunc{status(404)}; return Request{} }, "there is nothing at that address (404 Not Found)", 0},
		{"refused", func(w *world, s *server) Request { s.answers = []http.HandlerFunc{status(403)}; return Request{} }, "the server refuses (403 Forbidden)", 0},
		{"a redirect to no address", func(w *world, s *server) Request {
			s.answers = []http.HandlerFunc{status(302, "Location", "http://[::1?sig=SECRET")}
			return Request{}
		}, "failed to parse Location header", 0},
		{"another status", func(w *world, s *server) Request { s.answers = []http.HandlerFunc{status(418)}; return Request{} }, "the server answered 418", 0},
		{"errors for ever", func(w *world, s *server) Request {
			for range 20 {
				s.answers = append(s.answers, status(500))
			}
			return Request{}
		}, "the server cannot answer now (500 Internal Server Error) (tried 5 times)", 4},
		{"half for ever, from a server that knows no ranges", func(w *world, s *server) Request {
			s.etag = ""
			for range 60 {
				s.answers = append(s.answers, s.breaksAfter(50))
			}
			return Request{}
		}, "unexpected EOF (tried ", -1},
		{"a page", func(w *world, s *server) Request { s.body = []byte("<html>log in"); return Request{} }, "is no zip archive", 0},
		{"half, and the server calls it all", func(w *world, s *server) Request { s.body = b[:len(b)-30]; return Request{} }, "only a part of it is there", 0},
		{"another hash", func(w *world, s *server) Request { return Request{SHA256: strings.Repeat("1", 64)} }, "it is not the archive that was meant", 0},
		{"too large by what it says", func(w *world, s *server) Request { w.in.max = 10; return Request{} }, "the archive is too large: more than 10 bytes", 0},
		{"too large, without saying so", func(w *world, s *server) Request {
			w.in.max = 10
			s.answers = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
				w.Write(b[:20])
				w.(http.Flusher).Flush()
				w.Write(b[20:])
			}}
			return Request{}
		}, "the archive is too large: more than 10 bytes", 0},
		{"round in circles", func(w *world, s *server) Request {
			for range 20 {
				s.answers = append(s.answers, status(302, "Location", "/"))
			}
			return Request{}
		}, "it leads on and on", 0},
		{"to another kind of address", func(w *world, s *server) Request {
			s.answers = []http.HandlerFunc{status(302, "Location", "ftp://127.0.0.1/x")}
			return Request{}
		}, `it leads to an address of the kind "ftp"`, 0},
		{"to an unencrypted one elsewhere", func(w *world, s *server) Request {
			s.answers = []http.HandlerFunc{status(302, "Location", "http://192.0.2.1/x?sig=SECRET")}
			w.in.client.Transport = loopbackOnly{w.in.client.Transport}
			return Request{}
		}, "http://192.0.2.1/x is not encrypted", 0},
		{"unencrypted", func(w *world, s *server) Request {
			return Request{URL: "http://user:SECRET@192.0.2.1/" + stamped + "?sig=SECRET"}
		}, "http://192.0.2.1/" + stamped + " is not encrypted", 0},
		{"no address", func(w *world, s *server) Request { return Request{URL: "https://"} }, "is none that begins with https://", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, s := newWorld(t), newServer(t, b)
			r := c.change(w, s)
			if r.URL == "" {
				r.URL = s.archive() + "?sig=SECRET"
			}
			_, err := w.install(r)
			fails(t, err, c.want)
			if strings.Contains(err.Error(), "SECRET") {
				t.Errorf("it tells a secret: %v", err)
			}
			if c.tries >= 0 && len(w.waits) != c.tries {
				t.Errorf("it waited %v (%q)", w.waits, w.notes)
			}
			w.nothing()
		})
	}
}

// loopbackOnly answers for the rest of the network.
type loopbackOnly struct{ http.RoundTripper }

func (l loopbackOnly) RoundTrip(r *http.Request) (*http.Response, error) {
	if isLoopback(r.URL.Hostname()) {
		return l.RoundTripper.RoundTrip(r)
	}
	rec := httptest.NewRecorder()
	rec.WriteHeader(http.StatusOK)
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

func TestDownloadFromEncryptedToPlain(t *testing.T) {
	w := newWorld(t)
	s := httptest.NewTLSServer(status(302, "Location", "http://192.0.2.1/x?sig=SECRET"))
	defer s.Close()
	redirect := w.in.client.CheckRedirect
	w.in.client = s.Client()
	w.in.client.CheckRedirect = redirect
	// Also where the hash is known: nobody on the way needs to see what is asked.
	_, err := w.install(Request{URL: s.URL + "/" + stamped, SHA256: strings.Repeat("1", 64)})
	fails(t, err, "it leads from an encrypted address to one that is not (http://192.0.2.1/x)")
	w.nothing()
}

func TestDownloadThatStandsStill(t *testing.T) {
	w, s := newWorld(t), newServer(t, zipOf(t, good()))
	w.in.idle = 50 * time.Millisecond
	for range maxTries {
		s.answers = append(s.answers, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", itoa(len(s.body)))
			w.Write(s.body[:5])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
	}
	s.etag = ""
	_, err := w.install(Request{URL: s.archive()})
	fails(t, err, "nothing came for 50ms (tried ")
	w.nothing()
}

func TestDownloadStopped(t *testing.T) {
	b := zipOf(t, append(good(), ent{"big", string(sumText(600_000)), 0o644}))
	w, s := newWorld(t), newServer(t, b)
	ctx, cancel := context.WithCancel(context.Background())
	w.in.Progress = func(st Stage) {
		if st.Name == "download" && st.Done > 0 {
			cancel()
		}
	}
	_, err := w.in.Install(ctx, Request{URL: s.archive(), Platform: "linux-x86_64"})
	fails(t, err, "context canceled; ", "are kept")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it is no cancel: %v", err)
	}
	w.isLeft(partFile, partNote)
	w.in.Progress = nil
	w.must(Request{URL: s.archive()})
	if s.header(1, "Range") == "" {
		t.Error("it began again")
	}
}

func TestContentRange(t *testing.T) {
	for _, c := range []struct {
		text        string
		from, total int64
		ok          bool
	}{
		{"bytes 5-9/10", 5, 10, true}, {"bytes 5-9/*", 5, -1, true}, {"bytes */10", 0, 10, true},
		{"bytes */*", 0, -1, false}, {"", 0, 0, false}, {"lines 1-2/3", 0, 0, false}, {"bytes -1-2/3", 0, 3, false}, {"bytes 1-2/-3", 0, 0, false},
	} {
		from, total, ok := contentRange(c.text)
		if ok != c.ok || ok && (from != c.from || total != c.total) {
			t.Errorf("%q: %d of %d, %v", c.text, from, total, ok)
		}
	}
}

package install

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// server plays the one that archives are published on.
type server struct {
	*httptest.Server
	mu sync.Mutex
	// body and etag are what is published; answers are taken first, one a
	// request.
	body    []byte
	etag    string
	answers []http.HandlerFunc
	// noRanges makes it one that sends all, whatever it is asked for.
	noRanges bool
	asked    []http.Header
	paths    []string
}

func newServer(t *testing.T, body []byte) *server {
	s := &server{body: body, etag: `"one"`}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Header.Clone())
	s.paths = append(s.paths, r.URL.String())
	var answer http.HandlerFunc
	if len(s.answers) > 0 {
		answer, s.answers = s.answers[0], s.answers[1:]
	}
	body, etag, noRanges := s.body, s.etag, s.noRanges
	s.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	serve(w, r, body, etag, noRanges)
}

func (s *server) archive() string { return s.URL + "/releases/" + stamped }

func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func (s *server) header(i int, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[i].Get(name)
}

// breaksAfter sends n bytes of all and ends the connection.
func (s *server) breaksAfter(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.etag != "" {
			w.Header().Set("ETag", s.etag)
		}
		w.Header().Set("Content-Length", itoa(len(s.body)))
		w.Write(s.body[:n])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

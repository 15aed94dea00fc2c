package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fakeCollector takes OTLP/HTTP in JSON, and answers with each of its answers in
// turn before it accepts.
type fakeCollector struct {
	*httptest.Server
	t       *testing.T
	answers []func(w http.ResponseWriter)
	posts   int
	spans   []otlpSpan
	header  http.Header
}

func collect(t *testing.T, answers ...func(w http.ResponseWriter)) *fakeCollector {
	f := &fakeCollector{t: t, answers: answers}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		f.t.Errorf("%s %s %v, %v", r.Method, r.URL, r.Header, err)
	}
	f.posts++
	f.header = r.Header
	if len(f.answers) > 0 {
		f.answers[0](w)
		f.answers = f.answers[1:]
		return
	}
	f.spans = append(f.spans, spansOf(f.t, append(body, '\n'))...)
	io.WriteString(w, "{}")
}

func says(status int, body string, header ...string) func(w http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// sendTo sends the capture in testdata. Waits are told, and do not take time.
func sendTo(t *testing.T, address string, header http.Header) (c *Collector, waits []time.Duration, err error) {
	t.Helper()
	c, err = NewCollector(address, header)
	if err != nil {
		t.Fatal(err)
	}
	c.wait = func(_ context.Context, d time.Duration) error {
		waits = append(waits, d)
		return nil
	}
	s := &Spans{Send: func(batch []byte, n int) error {
		err = errors.Join(err, c.Send(t.Context(), batch, n))
		return nil
	}}
	export(t, testdata(t, "run.jsonl"), s)
	return c, waits, err
}

func TestCollectorGetsTheSpans(t *testing.T) {
	f := collect(t)
	c, waits, err := sendTo(t, f.URL, http.Header{"Api-Key": {"k"}})
	if err != nil || len(waits) > 0 || f.posts != 1 {
		t.Fatalf("%v, %v, %d posts", err, waits, f.posts)
	}
	if len(f.spans) == 0 || int64(len(f.spans)) != c.Sent || c.Rejected != 0 || f.header.Get("Api-Key") != "k" {
		t.Errorf("%d spans came, %d were sent, %d rejected, %v", len(f.spans), c.Sent, c.Rejected, f.header)
	}
}

// TestCollectorIsTriedAgain as OTLP says: 429, 502, 503 and 504, after what
// Retry-After says or after growing pauses; nothing else.
func TestCollectorIsTriedAgain(t *testing.T) {
	f := collect(t, says(503, ""), says(429, "", "Retry-After", "7"), says(502, ""), says(504, ""))
	c, waits, err := sendTo(t, f.URL+"/v1/traces", nil)
	if err != nil || f.posts != 5 || c.Sent == 0 {
		t.Fatalf("%v, %d posts, %d sent", err, f.posts, c.Sent)
	}
	for i, want := range []time.Duration{time.Second, 7 * time.Second, 2 * time.Second, 4 * time.Second} {
		low := want / 2
		if i == 1 {
			low = want
		}
		if waits[i] < low || waits[i] > want {
			t.Errorf("wait %d is %v, want %v", i, waits[i], want)
		}
	}
	for _, status := range []int{400, 401, 413, 500, 307} {
		f := collect(t, says(status, `{"message":"no such thing"}`, "Location", "/elsewhere"))
		_, waits, err := sendTo(t, f.URL, nil)
		if err == nil || f.posts != 1 || len(waits) > 0 || !strings.Contains(err.Error(), "no such thing") {
			t.Errorf("%d: %v, %d posts, %v", status, err, f.posts, waits)
		}
	}
}

func TestCollectorGivesUp(t *testing.T) {
	var answers []func(w http.ResponseWriter)
	for range 20 {
		answers = append(answers, says(503, "busy"))
	}
	f := collect(t, answers...)
	_, waits, err := sendTo(t, f.URL, nil)
	if err == nil || f.posts != collectTries || len(waits) != collectTries-1 || !strings.Contains(err.Error(), "503") {
		t.Errorf("%v, %d posts, %v", err, f.posts, waits)
	}
	f = collect(t, says(503, "", "Retry-After", "86400"))
	if _, waits, err = sendTo(t, f.URL, nil); err == nil || f.posts != 1 || len(waits) > 0 {
		t.Errorf("a day's wait: %v, %d posts, %v", err, f.posts, waits)
	}
	f.Close()
	_, waits, err = sendTo(t, strings.Replace(f.URL, "http://", "http://user:hush@", 1)+"/?token=hush", nil)
	if err == nil || len(waits) != collectTries-1 || strings.Contains(err.Error(), "hush") {
		t.Errorf("nobody there: %v, %v", err, waits)
	}
}

func TestPartialSuccess(t *testing.T) {
	f := collect(t, says(200, `{"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}`))
	c, _, err := sendTo(t, f.URL, nil)
	if err != nil || f.posts != 1 || c.Rejected != 2 || c.Says != "too old" || c.Sent == 0 {
		t.Errorf("%v, %d posts, %+v", err, f.posts, c)
	}
}

func TestEndpoints(t *testing.T) {
	for address, want := range map[string]string{
		"http://h:4318":            "http://h:4318/v1/traces",
		"http://h:4318/":           "http://h:4318/v1/traces",
		"https://h/otlp/v1/traces": "https://h/otlp/v1/traces",
		"https://h/otlp":           "https://h/otlp/v1/traces",
		"h:4318":                   "",
		"ftp://h":                  "",
		"http://":                  "",
		"":                         "",
	} {
		c, err := NewCollector(address, nil)
		switch {
		case (err != nil) != (want == ""):
			t.Errorf("%q: %v", address, err)
		case err == nil && c.place() != want:
			t.Errorf("%q is %s, want %s", address, c.place(), want)
		}
	}
}

// TestBatchesAreBounded: spans of any number go in batches of a size that
// collectors take.
func TestBatchesAreBounded(t *testing.T) {
	var n, batches, longest int
	s := &Spans{Content: true, Send: func(batch []byte, spans int) error {
		n, batches, longest = n+spans, batches+1, max(longest, len(batch))
		return nil
	}}
	capture := manyTurns(3000, strings.Repeat("a long answer ", 200))
	export(t, capture, s)
	if n != 3000 || longest > 4<<20 || batches < 3000/batchSpans {
		t.Errorf("%d spans in %d batches, the longest of %d bytes", n, batches, longest)
	}
}

package exchange

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Collector sends batches to an OpenTelemetry collector, over OTLP/HTTP in JSON,
// one at a time.
type Collector struct {
	url    *url.URL
	header http.Header
	client *http.Client
	// wait waits between two tries.
	wait func(ctx context.Context, d time.Duration) error

	// Sent counts spans that were accepted, Rejected those that were not, and
	// Says is what the collector said of it last.
	Sent, Rejected int64
	Says           string
}

const (
	// collectTimeout is for one request and its answer, 10 s as in OTLP's exporters.
	collectTimeout = 10 * time.Second
	collectTries   = 6
	firstWait      = time.Second
	longestWait    = 30 * time.Second
	// patience is the longest Retry-After that is waited for.
	patience = 2 * time.Minute
)

// NewCollector is for a collector at an address such as http://127.0.0.1:4318.
// /v1/traces is put behind it unless it ends so.
func NewCollector(address string, header http.Header) (*Collector, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the endpoint must be a URL such as http://127.0.0.1:4318")
	}
	if !strings.HasSuffix(u.Path, "/v1/traces") {
		u.Path = strings.TrimSuffix(u.Path, "/") + "/v1/traces"
	}
	return &Collector{url: u, header: header, wait: wait, client: &http.Client{
		Timeout: collectTimeout,
		// What is sent is for that address, and so are the headers.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Send sends a batch, and tries again where the collector, or the way to it, asks
// for it. An error is final.
func (c *Collector) Send(ctx context.Context, body []byte, spans int) error {
	pause := firstWait
	for try := 1; ; try++ {
		again, after, err := c.post(ctx, body, spans)
		if err == nil {
			return nil
		}
		if !again || try == collectTries || ctx.Err() != nil {
			return fmt.Errorf("sending %d spans to %s, try %d: %w", spans, c.place(), try, err)
		}
		if after == 0 {
			// With jitter, so that many senders do not come again together.
			after = pause/2 + rand.N(pause/2)
			pause = min(2*pause, longestWait)
		}
		if after > patience {
			return fmt.Errorf("sending %d spans to %s: it asks to come again in %v: %w", spans, c.place(), after, err)
		}
		if e := c.wait(ctx, after); e != nil {
			return fmt.Errorf("sending %d spans to %s: %w", spans, c.place(), err)
		}
	}
}

// place is the address without what may be secret in it.
func (c *Collector) place() string { return c.url.Scheme + "://" + c.url.Host + c.url.Path }

// post tries once. again tells that another try may help, after so long where the
// collector said so.
func (c *Collector) post(ctx context.Context, body []byte, spans int) (again bool, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	for k, v := range c.header {
		req.Header[k] = v
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.client.Do(req)
	if err != nil {
		var whole *url.Error // it has the URL in it
		if errors.As(err, &whole) {
			err = whole.Err
		}
		return true, 0, err
	}
	defer res.Body.Close()
	says, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return true, 0, err
	}
	if res.StatusCode/100 == 2 {
		c.accepted(says, spans)
		return false, 0, nil
	}
	err = fmt.Errorf("it answered %s%s", res.Status, reason(says))
	switch res.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, retryAfter(res.Header.Get("Retry-After"), time.Now()), err
	}
	return false, 0, err
}

// accepted reads a partial success: such a batch must not be sent again.
func (c *Collector) accepted(says []byte, spans int) {
	var answer struct {
		PartialSuccess struct {
			RejectedSpans json.RawMessage `json:"rejectedSpans"` // a string or a number
			ErrorMessage  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	json.Unmarshal(says, &answer)
	n, _ := strconv.ParseInt(strings.Trim(string(answer.PartialSuccess.RejectedSpans), `"`), 10, 64)
	n = min(max(n, 0), int64(spans))
	c.Rejected += n
	c.Sent += int64(spans) - n
	if m := answer.PartialSuccess.ErrorMessage; m != "" {
		c.Says = m
	}
}

// reason is what an error's body says: a google.rpc.Status, or text.
func reason(says []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(says, &status) == nil && status.Message != "" {
		return ": " + status.Message
	}
	if text := strings.TrimSpace(string(says)); text != "" {
		return ": " + text[:min(len(text), 300)]
	}
	return ""
}

// retryAfter is the time to wait that a header names, in seconds or as a date, 0
// for none.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}

package install

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	connectTimeout = 15 * time.Second
	headerTimeout  = 30 * time.Second
	// idleTimeout is how long a transfer may stand still. There is no limit on
	// the whole: an archive has hundreds of MB, and lines differ.
	idleTimeout = 60 * time.Second
	maxTries    = 5
	maxWait     = 30 * time.Second
)

var errIdle = errors.New("nothing came for too long")

// passing is an error that another try may not meet.
type passing struct {
	error
	wait time.Duration // what the server asked for
}

func (p *passing) Unwrap() error { return p.error }

// UnreachedError is that what has the archive could not be reached, or would not
// answer, however often it was tried.
type UnreachedError struct{ Err error }

func (e *UnreachedError) Error() string { return e.Err.Error() }
func (e *UnreachedError) Unwrap() error { return e.Err }

// isLoopback tells that a host is this machine.
func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// mayAsk refuses what others on the way could change: without TLS only this
// machine is asked, or for an archive whose hash is known.
func mayAsk(u *url.URL, known bool) error {
	if u.Scheme == "https" || isLoopback(u.Hostname()) || known {
		return nil
	}
	return fmt.Errorf("%s is not encrypted, so that anybody on the way could change what comes; give its hash with --sha256, or an https address", Plain(u))
}

// newClient takes proxies from the environment, as http.DefaultTransport does.
func newClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connectTimeout}).DialContext
	t.TLSHandshakeTimeout = connectTimeout
	t.ResponseHeaderTimeout = headerTimeout
	t.DisableCompression = true // what is hashed is what was published
	t.DisableKeepAlives = true  // net/http prints what comes on a connection that waits
	return &http.Client{Transport: t, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("it leads on and on, more than 10 times")
		}
		if last := via[len(via)-1].URL; last.Scheme == "https" && req.URL.Scheme != "https" && !isLoopback(req.URL.Hostname()) {
			return fmt.Errorf("it leads from an encrypted address to one that is not (%s)", Plain(req.URL))
		}
		if req.URL.Scheme != "https" && req.URL.Scheme != "http" {
			return fmt.Errorf("it leads to an address of the kind %q", req.URL.Scheme)
		}
		return nil
	}}
}

// ask sends one request. The response's body ends with an error if it stands
// still, and must be closed.
func (in *Installer) ask(ctx context.Context, u *url.URL, known bool, header http.Header) (*http.Response, error) {
	if err := mayAsk(u, known); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		cancel(nil)
		return nil, errors.New("it is no address that can be asked")
	}
	for name, values := range header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", "acp-shim")
	resp, err := in.client.Do(req)
	if err != nil {
		err = in.netError(ctx, err)
		cancel(nil)
		return nil, err
	}
	if final := resp.Request.URL; final != u {
		if err := mayAsk(final, known); err != nil {
			resp.Body.Close()
			cancel(nil)
			return nil, err
		}
	}
	body := &idleBody{in: in, ctx: ctx, cancel: cancel, body: resp.Body}
	body.timer = time.AfterFunc(in.idle, func() { cancel(errIdle) })
	resp.Body = body
	return resp, nil
}

// netError is an error of the network without the address, whose query may be
// secret.
func (in *Installer) netError(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errIdle) {
		return &passing{error: fmt.Errorf("nothing came for %s", in.idle)}
	} else if cause != nil {
		return cause
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	// Two errors of net/http have an address in their text, with all of it.
	for _, quoting := range []string{"failed to parse Location header", "invalid proxy address"} {
		if strings.HasPrefix(err.Error(), quoting) {
			return errors.New(quoting)
		}
	}
	var ne net.Error
	var op *net.OpError
	if errors.As(err, &op) || errors.As(err, &ne) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &passing{error: err}
	}
	return err
}

// idleBody is a body that is given up when nothing comes for a while.
type idleBody struct {
	in     *Installer
	ctx    context.Context
	cancel context.CancelCauseFunc
	body   io.ReadCloser
	timer  *time.Timer
}

func (b *idleBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.in.idle)
	n, err := b.body.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF {
		err = b.in.netError(b.ctx, err)
	}
	return n, err
}

func (b *idleBody) Close() error {
	b.timer.Stop()
	err := b.body.Close()
	b.cancel(nil)
	return err
}

// statusError is what a status that is no success means.
func statusError(resp *http.Response) error {
	text := http.StatusText(resp.StatusCode)
	switch code := resp.StatusCode; {
	case code == http.StatusNotFound || code == http.StatusGone:
		return fmt.Errorf("there is nothing at that address (%d %s); look up the build's address", code, text)
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusProxyAuthRequired:
		return fmt.Errorf("the server refuses (%d %s)", code, text)
	case code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code >= 500:
		p := &passing{error: fmt.Errorf("the server cannot answer now (%d %s)", code, text)}
		if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
			p.wait = min(time.Duration(min(n, 3600))*time.Second, maxWait)
		}
		return p
	default:
		return fmt.Errorf("the server answered %d %s", code, text)
	}
}

// persist tries something until it succeeds, fails for good, or has failed too
// often without getting on.
func (in *Installer) persist(ctx context.Context, place func() int64, try func() error) error {
	at, failures := place(), 0
	for n := 1; ; n++ {
		err := try()
		var p *passing
		if err == nil || ctx.Err() != nil || !errors.As(err, &p) {
			return err
		}
		if now := place(); now > at {
			at, failures = now, 0
		}
		if failures++; failures >= maxTries || n >= 10*maxTries {
			return &UnreachedError{fmt.Errorf("%w (tried %d times)", p.error, n)}
		}
		wait := max(p.wait, min(time.Second<<(failures-1), maxWait))
		in.say(Stage{Name: "retry", Note: p.Error(), Wait: wait})
		if err := in.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// get reads something small.
func (in *Installer) get(ctx context.Context, u *url.URL, limit int64, known bool) (text []byte, err error) {
	err = in.persist(ctx, func() int64 { return 0 }, func() error {
		resp, err := in.ask(ctx, u, known, nil)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return statusError(resp)
		}
		var b bytes.Buffer
		if _, err := io.Copy(&b, io.LimitReader(resp.Body, limit+1)); err != nil {
			return err
		}
		if int64(b.Len()) > limit {
			return fmt.Errorf("it has more than %d MiB, which it should not", limit>>20)
		}
		text = b.Bytes()
		return nil
	})
	return text, err
}

//go:build linux

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a headless Chromium with one page in it.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	trouble  []string // what the console said, and what was thrown
	requests []string
}

func newBrowser(t *testing.T, width, height int) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is not installed; e2e/run installs it")
	}
	dir, err := os.MkdirTemp("", "acp-shim-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// Chromium's children write on for a moment when it is gone.
		for end := time.Now().Add(5 * time.Second); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	flags := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.UserDataDir(dir), chromedp.WindowSize(width, height))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	ctx, over := context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(over)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatalf("starting chromium: %v", err)
	}
	command(b, network.Enable, network.EnableParams{})
	command(b, log.Enable, cdp.Empty{})
	command(b, runtime.Enable, cdp.Empty{})
	b.do(chromedp.EmulateViewport(int64(width), int64(height)))
	return b
}

func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.trouble = append(b.trouble, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.trouble = append(b.trouble, "console "+e.Type.String())
	case *log.EventEntryAdded:
		b.trouble = append(b.trouble, e.Entry.Text)
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	}
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// command sends a command of the protocol for which chromedp has no action.
func command[P, R any](b *browser, c cdp.Command[P, R], params P) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) (R, error) { return cdp.Call(ctx, t, c, params) })
	if err != nil {
		b.t.Fatal(err)
	}
}

// eval is the value of an expression in the page.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// js runs something in the page.
func (b *browser) js(text string) {
	b.t.Helper()
	eval[chromedp.Void](b, text)
}

// open opens a page of a capture and waits until it is shown.
func (b *browser) open(page string) {
	b.t.Helper()
	b.do(chromedp.Navigate("file://" + page))
	b.is(`document.readyState`, "complete")
	b.quiet()
	b.do(chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
}

// is waits until an expression in the page is what is wanted.
func (b *browser) is(expression string, want any) {
	b.t.Helper()
	if n, ok := want.(int); ok {
		want = float64(n)
	}
	for end := time.Now().Add(10 * time.Second); ; b.js(`new Promise(requestAnimationFrame)`) {
		got := eval[any](b, expression)
		if got == want {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("%s is %v, not %v", expression, got, want)
		}
	}
}

func (b *browser) keys(list ...string) {
	b.t.Helper()
	for _, k := range list {
		b.do(chromedp.KeyEvent(k))
	}
}

// quiet fails where the page has complained, or asked for anything but itself.
func (b *browser) quiet() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.trouble {
		b.t.Errorf("the page says: %s", text)
	}
	if len(b.requests) != 1 || !strings.HasPrefix(b.requests[0], "file://") {
		b.t.Errorf("the page asked for %q", b.requests)
	}
}

// shot keeps a picture of the page where SHOTS names a directory for it.
func (b *browser) shot(name string) {
	b.t.Helper()
	dir := os.Getenv("SHOTS")
	if dir == "" {
		return
	}
	b.js(`new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))`)
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// viewed makes a page of a capture.
func viewed(t *testing.T, capture string, flags ...string) string {
	t.Helper()
	page := filepath.Join(t.TempDir(), "page.html")
	if out, err := exec.Command(shim, append([]string{"view", "--no-open", "-o", page, capture}, flags...)...).CombinedOutput(); err != nil {
		t.Fatalf("making the page: %v\n%s", err, out)
	}
	return page
}

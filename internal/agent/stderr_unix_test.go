//go:build unix

package agent

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// pieces collects what Spec.Stderr is given.
type pieces struct {
	mu    sync.Mutex
	all   []string
	lost  int
	bytes int64
	came  chan struct{}
}

func newPieces() *pieces { return &pieces{came: make(chan struct{}, 1)} }

func (p *pieces) take(b []byte) {
	p.mu.Lock()
	p.all = append(p.all, string(b))
	p.mu.Unlock()
	select {
	case p.came <- struct{}{}:
	default:
	}
}

func (p *pieces) lose(lines int, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost += lines
	p.bytes += n
}

func (p *pieces) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.all...)
}

func TestStderrLines(t *testing.T) {
	got, quiet := newPieces(), newPieces()
	noise := func(line []byte) bool { return bytes.HasPrefix(line, []byte("RAW WS MSG:")) }
	skip := SkipLines(noise, quiet.take)
	p := start(t, "stderr", func(s *Spec) {
		s.Stderr = func(b []byte) { got.take(b); skip(b) }
		s.TailSkip = noise
	})
	raw := "RAW WS MSG: " + strings.Repeat("m", 150<<10) + "\n"
	io.WriteString(p.Stdin, "I0101 first\r\n\n"+raw+"\x1b[31mred\x1b[0m\x07 end\nno end")
	p.CloseStdin()
	await(t, p.StderrDone(), "stderr's end")

	list := got.list()
	if all := strings.Join(list, ""); all != "I0101 first\r\n\n"+raw+"\x1b[31mred\x1b[0m\x07 end\nno end" {
		t.Errorf("%d bytes came, not those that were written", len(all))
	}
	for _, piece := range list {
		if len(piece) > stderrPiece {
			t.Errorf("a piece of %d bytes", len(piece))
		}
		if i := strings.IndexByte(piece, '\n'); i >= 0 && i != len(piece)-1 {
			t.Errorf("a piece with two lines: %.60q", piece)
		}
	}
	if all := strings.Join(quiet.list(), ""); all != "I0101 first\r\n\n\x1b[31mred\x1b[0m\x07 end\nno end" {
		t.Errorf("without the noise: %d bytes, %.80q", len(all), all)
	}
	if want := "I0101 first\nred end\nno end"; p.Tail() != want {
		t.Errorf("tail %q, want %q", p.Tail(), want)
	}
}

// A login URL or a prompt may stand there without an end of line while the
// agent waits.
func TestStderrUnfinishedLineIsHandedOn(t *testing.T) {
	got := newPieces()
	p := start(t, "stderr", func(s *Spec) { s.Stderr = got.take })
	io.WriteString(p.Stdin, "open this: ")
	<-got.came
	if list := got.list(); len(list) != 1 || list[0] != "open this: " {
		t.Errorf("pieces %q", list)
	}
	if p.Tail() != "open this: " {
		t.Errorf("tail %q", p.Tail())
	}
	io.WriteString(p.Stdin, "http://127.0.0.1\n")
	<-got.came
	if want := "open this: http://127.0.0.1"; p.Tail() != want {
		t.Errorf("tail %q, want %q", p.Tail(), want)
	}
	p.CloseStdin()
	await(t, p.StderrDone(), "stderr's end")
}

func TestStderrFloodDoesNotBlockTheChild(t *testing.T) {
	got := newPieces()
	block := make(chan struct{})
	p := start(t, "flood", func(s *Spec) {
		s.Stderr = func(b []byte) { <-block; got.take(b) }
		s.StderrLost = got.lose
	})
	// The child says so on stdout after the last of its 8 MB.
	out, err := io.ReadAll(p.Stdout)
	if err != nil || string(out) != "done\n" {
		t.Fatalf("stdout %q, error %v", out, err)
	}
	await(t, p.Done(), "exit")
	close(block)
	await(t, p.StderrDone(), "stderr's end")
	took := 0
	for _, piece := range got.list() {
		took += len(piece)
	}
	// What was still in the pipe at the exit may be taken as room is made.
	if took > stderrWaiting+128<<10 || took < stderrWaiting-128<<10 {
		t.Errorf("%d bytes were kept, want nearly %d", took, stderrWaiting)
	}
	if int64(took)+got.bytes != 8_000_000 || len(got.list())+got.lost != 80_000 {
		t.Errorf("kept %d bytes in %d lines, lost %d in %d: not 8,000,000 in 80,000",
			took, len(got.list()), got.bytes, got.lost)
	}
	if tail := p.Tail(); len(tail) > tailBytes || !strings.HasSuffix(tail, "x") || strings.Count(tail, "\n") < 70 {
		t.Errorf("tail has %d bytes, %d lines", len(tail), strings.Count(tail, "\n"))
	}
}

func TestReleaseEndsReadingThoughAToolHoldsIt(t *testing.T) {
	p := start(t, "family", func(s *Spec) { s.Args = []string{"leave"} })
	await(t, p.Done(), "exit")
	select {
	case <-p.StderrDone():
		t.Fatal("stderr ended, though the family holds it open")
	case <-time.After(20 * time.Millisecond): // that nothing happens has no event
	}
	p.Release()
	await(t, p.StderrDone(), "stderr's end")
}

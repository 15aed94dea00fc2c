package proxy

import (
	"bytes"
	"slices"
	"sync"
	"testing"
	"time"

	"acp-shim/internal/wire"
)

// gate is a peer that takes nothing until it is opened.
type gate struct {
	open chan struct{}
	mu   sync.Mutex
	got  []byte
}

func (g *gate) Write(b []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	g.got = append(g.got, b...)
	return len(b), nil
}

// TestLargeLinesWaitInOrder has lines that are not copied wait beside those that are,
// for a peer that takes nothing at first.
func TestLargeLinesWaitInOrder(t *testing.T) {
	large := func(c byte) []byte { return append(bytes.Repeat([]byte{c}, wire.Alone), '\n') }
	for name, lines := range map[string][][]byte{
		"one":                   {large('a')},
		"small before":          {[]byte("x\n"), large('a')},
		"small behind":          {large('a'), []byte("x\n"), []byte("y\n")},
		"two":                   {large('a'), large('b')},
		"two, small between":    {large('a'), []byte("x\n"), large('b'), []byte("y\n")},
		"many small ones":       slices.Repeat([][]byte{append(bytes.Repeat([]byte("z"), 1000), 10), []byte("y\n")}, 5000),
		"all kinds":             slices.Repeat([][]byte{large('a'), []byte("x\n"), append(bytes.Repeat([]byte("z"), keepQueue), 10), []byte("y\n"), large('b')[1:]}, 3),
		"as large as is copied": {large('a')[1:], large('b')},
	} {
		var mu sync.Mutex
		g := &gate{open: make(chan struct{})}
		closed := make(chan struct{})
		o := newOutbox(&mu, g, -1)
		o.onClose = func() { close(closed) }
		most := 0
		o.onEmpty = func(n int) { most = n }
		go o.run()
		var want []byte
		for _, l := range lines {
			want = append(want, l...)
			mu.Lock()
			o.put(l)
			o.flush()
			mu.Unlock()
		}
		mu.Lock()
		waiting := o.waiting()
		o.end()
		mu.Unlock()
		if waiting != len(want) {
			t.Errorf("%s: %d of %d bytes wait", name, waiting, len(want))
		}
		close(g.open)
		select {
		case <-closed:
		case <-time.After(patience):
			t.Fatalf("%s: it does not end", name)
		}
		mu.Lock()
		if most != len(want) {
			t.Errorf("%s: told that %d bytes had waited, and not %d", name, most, len(want))
		}
		mu.Unlock()
		if !bytes.Equal(g.got, want) {
			t.Errorf("%s: %d bytes came, and not the %d that were put", name, len(g.got), len(want))
		}
	}
}

// TestSlowPeersAreSeenToTake: a peer that takes 8 KiB a second is seen to take something
// within each second, whatever waits.
func TestSlowPeersAreSeenToTake(t *testing.T) {
	piece, most := leastPiece, time.Duration(0)
	for range 50 {
		took := time.Duration(piece) * time.Second / (8 << 10)
		most = max(most, took)
		piece = nextPiece(piece, took)
	}
	if most > time.Second {
		t.Errorf("nothing is seen for %v", most)
	}
	// One that was fast and is slow from then on.
	for range 20 {
		piece = nextPiece(piece, time.Millisecond)
	}
	if piece != mostPiece {
		t.Errorf("a fast one gets %d bytes at a time", piece)
	}
	for n := 0; piece > leastPiece; n++ {
		if piece = nextPiece(piece, time.Second); n > 4 {
			t.Fatalf("it still gets %d bytes", piece)
		}
	}
}

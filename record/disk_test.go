package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"acp-shim/proxy"
)

// disk is a file in memory that can run full, fail, and be slow.
type disk struct {
	mu     sync.Mutex
	b      []byte
	room   int // bytes that still fit
	fail   error
	gate   chan struct{} // nil, or what a write waits for
	stuck  bool          // cannot be truncated
	writes int
	sizes  []int // of the writes
	tries  int
	synced bool
	closed bool
}

func newDisk() *disk { return &disk{room: 1 << 40} }

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	gate := d.gate
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tries++
	d.sizes = append(d.sizes, len(p))
	if d.fail != nil {
		return 0, d.fail
	}
	n := min(len(p), d.room)
	d.b = append(d.b, p[:n]...)
	d.room -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	d.writes++
	return n, nil
}

func (d *disk) Size() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return int64(len(d.b)), nil
}

func (d *disk) Truncate(n int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stuck {
		return errors.New("stuck")
	}
	d.room += len(d.b) - int(n)
	d.b = d.b[:n]
	return nil
}

func (d *disk) Sync() error  { d.synced = true; return nil }
func (d *disk) Close() error { d.closed = true; return nil }

func (d *disk) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

func (d *disk) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return string(d.b)
}

func note(n int) *proxy.Frame {
	return &proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: fmt.Appendf(nil, `{"method":"n","params":{"n":%d}}`+"\n", n)}
}

// entries reads a capture that must be whole.
func entries(t *testing.T, capture string) []Entry {
	t.Helper()
	var list []Entry
	for e, err := range Read(strings.NewReader(capture)) {
		if err != nil {
			t.Fatalf("%v in\n%s", err, capture)
		}
		list = append(list, e)
	}
	return list
}

// accounts checks that every seq from 1 to the last is there or named by a gap,
// that counts are right, and returns the numbers of lost frames and events.
func accounts(t *testing.T, list []Entry) (lost, lostEvents uint64) {
	t.Helper()
	there := map[uint64]bool{}
	var last, frames, events uint64
	var gaps []Gap
	if list[0].Header == nil {
		t.Fatal("the first line is no header")
	}
	for _, e := range list[1:] {
		if e.Header != nil {
			t.Fatal("two headers")
		}
		if e.Seq <= last {
			t.Fatalf("seq %d after %d", e.Seq, last)
		}
		last = e.Seq
		there[e.Seq] = true
		if g, ok := e.Gap(); ok {
			if g.First > g.Last || g.Last >= e.Seq || g.Why == "" {
				t.Errorf("gap %+v at seq %d", g, e.Seq)
			}
			gaps = append(gaps, g)
			lost += g.Frames
			lostEvents += g.Events
		}
		if e.IsFrame() {
			frames++
		} else {
			events++
		}
	}
	missing := uint64(0)
	for seq := uint64(1); seq <= last; seq++ {
		if there[seq] {
			continue
		}
		missing++
		named := false
		for _, g := range gaps {
			named = named || g.First <= seq && seq <= g.Last
		}
		if !named {
			t.Errorf("seq %d is missing and no gap names it", seq)
		}
	}
	if missing != lost+lostEvents {
		t.Errorf("%d seqs are missing, the gaps say %d frames and %d events", missing, lost, lostEvents)
	}
	end := list[len(list)-1]
	var total ending
	if end.Event != "end" || json.Unmarshal(end.Data, &total) != nil {
		t.Fatalf("the last line is %q", end.Event)
	}
	if total.Frames != frames || total.Lost != lost+lostEvents {
		t.Errorf("the end says %+v; there are %d frames, and %d were lost", total, frames, lost+lostEvents)
	}
	return lost, lostEvents
}

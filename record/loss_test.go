package record

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"acp-shim/proxy"
)

// TestWriterFullDisk fills the disk in the middle of a line. While it is full
// the queue fills, too; when there is room again all goes on, and what was
// turned away is named.
func TestWriterFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		var warned []string
		w := newWriter(d, "f", Options{Start: time.Now(), Queue: 4000, Warn: func(err error) { warned = append(warned, err.Error()) }})
		synctest.Wait()
		d.set(func() { d.room = 30 })
		w.Frame(note(0))
		time.Sleep(flushEvery)
		synctest.Wait()
		if torn := d.text(); strings.HasSuffix(torn, "\n") {
			t.Fatal("the disk did not fill")
		} else if n := len(entries(t, torn)); n != 1 {
			t.Fatalf("a torn file reads as %d entries", n)
		}
		const total = 200
		for n := 1; n < total; n++ {
			w.Frame(note(n))
		}
		w.Event(&proxy.Event{Kind: "exit", Text: "code 1"})
		time.Sleep(time.Minute)
		var before, after int
		d.set(func() { before = d.tries })
		time.Sleep(time.Minute)
		d.set(func() { after = d.tries; d.room = 1 << 30 })
		if n := after - before; n < 5 || n > 30 {
			t.Errorf("%d tries in a minute", n)
		}
		time.Sleep(retryLast + flushEvery)
		w.Frame(note(total))
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		list := entries(t, d.text())
		lost, events := accounts(t, list)
		got := uint64(0)
		for _, e := range list {
			if e.IsFrame() {
				got++
			}
		}
		if lost == 0 || events != 1 || got+lost != total+1 {
			t.Errorf("%d frames are there and %d frames, %d events lost, of %d frames and 1 event", got, lost, events, total+1)
		}
		if len(warned) != 1 || !strings.Contains(warned[0], syscall.ENOSPC.Error()) {
			t.Errorf("warnings: %q", warned)
		}
		for _, e := range list {
			if g, ok := e.Gap(); ok && g.Why != syscall.ENOSPC.Error() {
				t.Errorf("why: %q", g.Why)
			}
		}
	})
}

// TestWriterShortFailure loses nothing where the queue is long enough.
func TestWriterShortFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		w := newWriter(d, "f", Options{Start: time.Now()})
		d.set(func() { d.fail = syscall.EIO })
		for n := range 50 {
			w.Frame(note(n))
			time.Sleep(flushEvery)
		}
		d.set(func() { d.fail = nil })
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if lost, _ := accounts(t, entries(t, d.text())); lost != 0 {
			t.Errorf("%d frames lost", lost)
		}
	})
}

// TestWriterCloseOnFullDisk: the error names the cause, and the file ends with a
// whole line wherever the disk was full.
func TestWriterCloseOnFullDisk(t *testing.T) {
	for _, room := range []int{0, 1, 30, 80, 200, 333, 1000} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			w := newWriter(d, "f", Options{Start: time.Now()})
			synctest.Wait()
			d.set(func() { d.room = room })
			for n := range 20 {
				w.Frame(note(n))
			}
			time.Sleep(time.Second)
			w.Frame(note(20))
			if err := w.Close(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "frames") {
				t.Errorf("room %d: error %v", room, err)
			}
			text := d.text()
			if !strings.HasSuffix(text, "\n") {
				t.Errorf("room %d: a torn line is left: %s", room, text)
			}
			entries(t, text)
		})
	}
}

// TestWriterNamesWhatItGaveUp needs a disk that fails once more than is tried.
func TestWriterNamesWhatItGaveUp(t *testing.T) {
	for n := range 4 {
		stuck, queue := n%2 == 1, n/2*2500
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			w := newWriter(d, "f", Options{Start: time.Now(), Queue: queue})
			synctest.Wait()
			d.set(func() { d.room, d.stuck = 250, stuck })
			for n := range 20 {
				w.Frame(note(n))
			}
			time.Sleep(time.Second) // the flusher waits for its next try
			if queue > 0 {
				for n := 20; n < 80; n++ {
					w.Frame(note(n)) // too many
				}
			}
			gate := make(chan struct{})
			d.set(func() { d.gate = gate })
			done := make(chan error)
			go func() { done <- w.Close() }()
			gate <- struct{}{} // the last try for the frames
			synctest.Wait()
			d.set(func() { d.room = 1000 })
			close(gate)
			if err := <-done; !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("error %v", err)
			}
			var list []Entry
			damaged := 0
			for e, err := range Read(strings.NewReader(d.text())) {
				if err != nil {
					damaged++
				} else {
					list = append(list, e)
				}
			}
			if stuck != (damaged == 1) {
				t.Errorf("%d damaged lines, stuck: %v", damaged, stuck)
			}
			if lost, _ := accounts(t, list); lost == 0 || lost == 20 || queue > 0 && lost < 60 {
				t.Errorf("%d frames lost", lost)
			}
		})
	}
}

// TestWriterHeaderLate starts on a full disk.
func TestWriterHeaderLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.room = 20
		w := newWriter(d, "f", Options{Start: time.Now()})
		w.Frame(note(1))
		time.Sleep(time.Second)
		d.set(func() { d.room = 1 << 20 })
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		accounts(t, entries(t, d.text()))
	})
}

// TestWriterSlowDisk: the queue is bounded, nothing blocks, and after a slow
// spell there is one gap, not one after every frame that fitted again.
func TestWriterSlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		stopped := make(chan error, 1)
		w := newWriter(d, "f", Options{Start: time.Now(), Queue: 10_000, Strict: true, Stop: func(err error) { stopped <- err }})
		synctest.Wait()
		gate := make(chan struct{})
		d.set(func() { d.gate = gate })
		for n := range 1000 {
			w.Frame(note(n))
			if n == 10 {
				time.Sleep(flushEvery)
				synctest.Wait()
			}
		}
		if w.queue.held > 10_000+len(note(0).Bytes) {
			t.Errorf("%d bytes are held", w.queue.held)
		}
		if err := <-stopped; err == nil || !strings.Contains(err.Error(), "too slow") {
			t.Errorf("strict: %v", err)
		}
		close(gate)
		time.Sleep(time.Second)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		list := entries(t, d.text())
		lost, _ := accounts(t, list)
		gaps := 0
		for _, e := range list {
			if e.Event == "gap" {
				gaps++
			}
		}
		if lost < 500 || gaps != 1 {
			t.Errorf("%d frames lost in %d gaps", lost, gaps)
		}
	})
}

// TestQueueStaysFull until half of it is free, and then takes anything.
func TestQueueStaysFull(t *testing.T) {
	q := queue{max: 8 * chunkSize}
	for q.held < q.max {
		q.commit(q.reserve(chunkSize, 0)[:chunkSize])
	}
	if q.reserve(1, 0) != nil {
		t.Fatal("there was room")
	}
	taken, _ := q.take(nil)
	for i, c := range taken {
		q.give(c, 0)
		free := i + 1
		if got := q.reserve(1, 0) != nil; got != (free >= 4) {
			t.Fatalf("room with %d of 8 chunks free: %v", free, got)
		}
		if free == 4 {
			break
		}
	}
	if c := q.reserve(100*q.max, 0); c != nil {
		t.Error("more than half is used, and a frame beyond all bounds was taken")
	}
	for _, c := range taken[4:] {
		q.give(c, 0)
	}
	if c := q.reserve(100*q.max, 0); c == nil {
		t.Error("one frame of any size must be taken")
	}
}

// faulty is a disk that breaks the flusher.
type faulty struct{ *disk }

func (faulty) Write([]byte) (int, error) { panic("for a test") }

// TestAFaultAtTheEnd is told as well, and keeps nobody waiting.
func TestAFaultAtTheEnd(t *testing.T) {
	w := newWriter(newDisk(), "x", Options{Start: time.Now(), Clock: func() time.Time { panic("for a test") }})
	done := make(chan error, 1)
	go func() { done <- w.Close() }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "for a test") {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
	}
}

// TestAFaultEndsTheCaptureOnly: it is told, a strict capture stops the traffic, and who
// records goes on without waiting.
func TestAFaultEndsTheCaptureOnly(t *testing.T) {
	told, stopped := make(chan error, 10), make(chan error, 1)
	w := newWriter(faulty{newDisk()}, "x", Options{
		Queue: 1 << 10, Warn: func(err error) { told <- err }, Strict: true, Stop: func(err error) { stopped <- err },
	})
	for _, c := range []chan error{told, stopped} {
		if err := <-c; !strings.Contains(err.Error(), "for a test") {
			t.Errorf("told %v", err)
		}
	}
	for n := range 1000 {
		w.Frame(note(n))
	}
	w.Event(&proxy.Event{Kind: "note"})
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "for a test") {
		t.Errorf("it ended with %v", err)
	}
	if w.queue.held != 0 {
		t.Errorf("%d bytes are held", w.queue.held)
	}
}

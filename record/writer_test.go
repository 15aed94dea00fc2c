package record

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"acp-shim/proxy"
)

func TestWriterBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		w := newWriter(d, "f", Options{Start: time.Now(), Version: "1"})
		synctest.Wait()
		if d.writes != 1 || !strings.HasPrefix(d.text(), `{"format":"acp-shim-capture","version":1,`) {
			t.Fatalf("%d writes: %s", d.writes, d.text())
		}
		time.Sleep(time.Hour) // idle: nothing is written, and nobody wakes
		w.Frame(note(1))
		w.Event(&proxy.Event{Kind: "note", Text: "hello"})
		time.Sleep(flushEvery - 1)
		synctest.Wait()
		if d.writes != 1 {
			t.Fatal("written before the time was up")
		}
		w.Frame(note(2))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if d.writes != 2 || strings.Count(d.text(), "\n") != 4 {
			t.Fatalf("%d writes, want one of three lines behind the header:\n%s", d.writes, d.text())
		}
		w.Frame(note(3))
		w.SetSummary([]byte(`{"sessions":{"s1":{"totalTokens":12}}}`))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		w.Frame(note(4)) // too late
		w.Event(&proxy.Event{Kind: "note"})
		list := entries(t, d.text())
		if lost, _ := accounts(t, list); lost != 0 {
			t.Error("lost frames")
		}
		if got := string(list[len(list)-1].Data); got != `{"frames":3,"events":1,"bytes":101,"lost":0,"summary":{"sessions":{"s1":{"totalTokens":12}}}}` {
			t.Errorf("end: %s", got)
		}
		if list[1].T != time.Hour || list[3].T != time.Hour+flushEvery-1 {
			t.Errorf("times %v, %v", list[1].T, list[3].T)
		}
		if !d.synced || !d.closed {
			t.Error("not synced or not closed")
		}
	})
}

func TestWriterShutdownDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.gate = make(chan struct{})
		w := newWriter(d, "f", Options{Start: time.Now()})
		w.Frame(note(1))
		ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
		defer cancel()
		if err := w.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		close(d.gate)
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		accounts(t, entries(t, d.text()))
	})
}

// TestWriterLargeFrame is written from where it is.
func TestWriterLargeFrame(t *testing.T) {
	d := newDisk()
	w := newWriter(d, "f", Options{Start: time.Now(), Queue: 1 << 20})
	big := []byte(`{"data":"` + strings.Repeat("iVBORw0KGgo=", 20<<20/12) + `"}` + "\n")
	w.Frame(note(1))
	w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: big})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list := entries(t, d.text())
	accounts(t, list)
	if !bytes.Equal(list[2].Sent(), big) {
		t.Error("the large frame changed")
	}
	if !slices.Contains(d.sizes, len(big)-1) {
		t.Errorf("it was copied; the writes are of %v bytes", d.sizes)
	}
}

// TestWriterConcurrently is for the race detector.
func TestWriterConcurrently(t *testing.T) {
	for range 20 {
		d := newDisk()
		w := newWriter(d, "f", Options{Start: time.Now()})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for n := range 200 {
					w.Frame(note(n))
					w.Event(&proxy.Event{Kind: "note"})
					w.SetSummary([]byte(`1`))
				}
			})
		}
		wg.Go(func() {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { w.Shutdown(context.Background()) })
		wg.Wait()
		accounts(t, entries(t, d.text()))
	}
}

// TestClock: times come from Options.Clock, counted from Options.Start.
func TestClock(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)
	d := newDisk()
	w := newWriter(d, "f", Options{Start: now, Clock: func() time.Time {
		now = now.Add(time.Second)
		return now
	}})
	w.Frame(note(1))
	w.Frame(note(2))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list := entries(t, d.text())
	if list[1].T != time.Second || list[2].T != 2*time.Second {
		t.Errorf("times %v and %v", list[1].T, list[2].T)
	}
	if h := list[0].Header; !h.Start.Equal(time.Date(2026, 11, 30, 12, 0, 0, 5, time.UTC)) || !strings.Contains(d.text(), `"start":"2026-11-30T12:00:00.000000005Z"`) {
		t.Errorf("start %v", h.Start)
	}
}

func TestStrictNeedsStop(t *testing.T) {
	if _, err := Create(t.TempDir(), Options{Strict: true}); err == nil {
		t.Error("opened")
	}
}

// TestFrameDoesNotAllocate: under the loop's lock a small frame is only copied.
func TestFrameDoesNotAllocate(t *testing.T) {
	q := Writer{queue: queue{max: DefaultQueue}, armed: true, start: time.Now(), wake: make(chan struct{}, 1)}
	f := note(1)
	f.Edits = []proxy.Edit{{At: 2, Old: "a", New: "b"}}
	e := &proxy.Event{Kind: "stderr", Text: "line"}
	if n := testing.AllocsPerRun(10_000, func() {
		q.Frame(f)
		q.Event(e)
		if q.queue.held > 3*chunkSize {
			chunks, _ := q.queue.take(q.queue.chunks)
			for _, c := range chunks {
				q.queue.give(c, 0)
			}
		}
	}); n > 0.01 {
		t.Errorf("%v allocations a frame", n)
	}
}

// TestRecordingDoesNotAllocate goes the whole way to the file.
func TestRecordingDoesNotAllocate(t *testing.T) {
	w, err := Create(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	f := note(1)
	if n := testing.AllocsPerRun(100_000, func() { w.Frame(f) }); n > 0.05 {
		t.Errorf("%v allocations a frame", n)
	}
}

package record

import (
	"slices"
	"strings"
	"testing"
	"time"

	"acp-shim/proxy"
)

// TestFramesThatLieApart are recorded in their order among others, whole, and counted
// while they wait.
func TestFramesThatLieApart(t *testing.T) {
	d := newDisk()
	w := newWriter(d, "x", Options{Raw: true})
	var want []string
	frame := func(size int, own bool) {
		line := `{"x":"` + strings.Repeat(string(rune('a'+len(want)%26)), size) + "\"}\n"
		want = append(want, line)
		w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: []byte(line), Own: own, Why: "for a test"})
	}
	for n := range 60 {
		frame(n, false)
		if n%3 == 0 {
			frame(5000+n, true)
		}
		if n%20 == 0 {
			frame(5<<20, true)
		}
		if n%7 == 0 {
			w.Event(&proxy.Event{Kind: "note", Text: "between"})
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []Entry
	for _, e := range entries(t, d.text()) {
		if e.IsFrame() {
			got = append(got, e)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("%d frames, and not %d", len(got), len(want))
	}
	for i, e := range got {
		if string(e.Sent()) != want[i] || e.Why != "for a test" {
			t.Errorf("frame %d: %d bytes, and not %d, %q", i, len(e.Sent()), len(want[i]), e.Why)
		}
	}
	if w.queue.held != 0 {
		t.Errorf("%d bytes are held in the end", w.queue.held)
	}
}

// TestWhatLiesApartIsBounded like all that waits.
func TestWhatLiesApartIsBounded(t *testing.T) {
	q := queue{max: 8 * chunkSize}
	big := 3 * chunkSize
	for range 2 {
		c := q.reserve(10, big)
		if c == nil {
			t.Fatal("there was no room")
		}
		q.commit(c)
	}
	if q.held != 2*big+chunkSize {
		t.Errorf("%d bytes are held", q.held)
	}
	if q.reserve(10, big) != nil {
		t.Error("more than the queue's limit was taken")
	}
	chunks, _ := q.take(nil)
	for i, c := range chunks {
		q.give(c, []int{2 * big}[i])
	}
	if q.held != 0 {
		t.Errorf("%d bytes are held in the end", q.held)
	}
}

// TestTimesAreTheReads: frames that one read has brought have its time, and times never
// go back.
func TestTimesAreTheReads(t *testing.T) {
	d := newDisk()
	start := time.Now()
	w := newWriter(d, "x", Options{Start: start})
	at := func(ms int) func() time.Time {
		return func() time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	}
	for _, ms := range []int{1000, 1000, 3000, 2000} {
		w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: []byte("{}\n"), At: at(ms)})
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []time.Duration
	for _, e := range entries(t, d.text()) {
		if e.IsFrame() {
			got = append(got, e.T)
		}
	}
	want := []time.Duration{time.Second, time.Second, 3 * time.Second, 3 * time.Second}
	if !slices.Equal(got, want) {
		t.Errorf("%v, and not %v", got, want)
	}
}

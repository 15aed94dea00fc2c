package proxy

import (
	"fmt"
	"testing"
	"time"
)

// clocked is a tap that keeps when each frame came.
type clocked chan time.Time

func (c clocked) Frame(f *Frame) { c <- f.At() }
func (c clocked) Event(*Event)   {}

// TestEachReadHasItsTime: the frames of one read have one time, and those of the next
// another, whoever sent them.
func TestEachReadHasItsTime(t *testing.T) {
	tap := make(clocked, 100)
	r := newRig(t, Options{Taps: []Tap{tap}})
	a := r.agent()
	last := time.Now()
	for n := range 6 {
		line := fmt.Sprintf(`{"method":"_x","params":{"n":%d}}`, n)
		began := time.Now()
		if n%3 == 2 {
			fmt.Fprintln(a.say, line)
		} else {
			fmt.Fprintln(r.send, line)
		}
		at := <-tap
		if at.Before(began) || at.After(time.Now()) || !at.After(last) {
			t.Errorf("frame %d came at %v, and was sent at %v, after one of %v", n, at, began, last)
		}
		last = at
	}
	fmt.Fprintf(r.send, "%[1]s\n%[1]s\n", `{"method":"_y","params":{}}`)
	if one, two := <-tap, <-tap; !one.Equal(two) {
		t.Errorf("one read, two times: %v and %v", one, two)
	}
}

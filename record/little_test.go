package record

import (
	"testing"
	"testing/synctest"
	"time"
)

// chatty is a disk during whose writes another frame comes.
type chatty struct {
	*disk
	w    *Writer
	left int
	at   []time.Time
}

func (c *chatty) Write(b []byte) (int, error) {
	c.at = append(c.at, time.Now())
	if c.left > 0 && c.w != nil {
		c.left--
		c.w.Frame(note(c.left))
	}
	return c.disk.Write(b)
}

// TestLittleWaitsForTheTimer: what comes while the flusher writes is no write of its own
// at once, or each frame would be one where the flusher has a processor to itself.
func TestLittleWaitsForTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &chatty{disk: newDisk(), left: 20}
		w := newWriter(d, "x", Options{Start: time.Now()})
		synctest.Wait() // the header is written
		d.w, d.at = w, nil
		w.Frame(note(100))
		time.Sleep(time.Second)
		synctest.Wait()
		if len(d.at) != 21 {
			t.Errorf("%d writes, and not 21", len(d.at))
		}
		for i := 1; i < len(d.at); i++ {
			if gap := d.at[i].Sub(d.at[i-1]); gap < flushEvery {
				t.Errorf("write %d is %v after the one before", i, gap)
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if n := len(entries(t, d.text())); n != 23 { // with the header and the end
			t.Errorf("%d lines", n)
		}
	})
}

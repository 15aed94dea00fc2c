package replay

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSpeed: gaps are the recorded ones, divided, and count from what was waited
// for.
func TestSpeed(t *testing.T) {
	b := capture("> "+prompt(1, "s", "x"), "100< "+chunk("s", "1"), "100< "+permission(0, "s", "t"), "5000> "+allowed(0), "100< "+chunk("s", "2"), "100< "+done(1))
	for speed, gap := range map[float64]time.Duration{1: 100 * time.Millisecond, 10: 10 * time.Millisecond, 0: 0} {
		synctest.Test(t, func(t *testing.T) {
			p := parse(t, b, Options{Speed: speed}).Agent()
			in := bufio.NewReader(p)
			read := func(want time.Duration) {
				t.Helper()
				before := time.Now()
				if _, err := in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(before); took != want {
					t.Errorf("at speed %v it took %v, want %v", speed, took, want)
				}
			}
			io.WriteString(p, prompt(1, "s", "x")+"\n")
			read(gap)
			read(gap)
			time.Sleep(time.Second) // the client thinks
			io.WriteString(p, allowed(0)+"\n")
			read(gap)
			p.CloseWrite()
			read(gap) // what was due is still said
			if _, err := in.ReadByte(); err != io.EOF {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// TestReadLater: what is read does not depend on when it is read.
func TestReadLater(t *testing.T) {
	for name, b := range captures(t) {
		s := parse(t, b, Options{})
		at, later := s.Agent(), s.Agent()
		var now bytes.Buffer
		for _, f := range clientWire(t, b) {
			if !f.client {
				continue
			}
			for _, p := range []*Player{at, later} {
				if _, err := io.WriteString(p, f.line); err != nil {
					t.Fatal(err)
				}
			}
			for len(at.e.queue) > 0 || len(at.out) > 0 {
				var some [100]byte
				n, err := at.Read(some[:])
				if err != nil {
					t.Fatal(err)
				}
				now.Write(some[:n])
			}
		}
		later.CloseWrite()
		all, err := io.ReadAll(later)
		if err != nil || now.Len() == 0 || !bytes.Equal(all, now.Bytes()) {
			t.Errorf("%s: %d bytes read at once, %d read later, %v", name, now.Len(), len(all), err)
		}
	}
}

// TestCut: lines come in any pieces, and the last needs no end.
func TestCut(t *testing.T) {
	s := parse(t, capture("> "+initialize, "< "+hello), Options{})
	p := s.Agent()
	for _, c := range []byte("\n \n" + initialize) {
		if n, err := p.Write([]byte{c}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if err := p.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(p); err != nil || string(got) != hello+"\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := io.WriteString(p, "x"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("writing after the end gives %v", err)
	}
}

func TestCloseEndsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := parse(t, capture("> "+initialize, "< "+hello), Options{}).Agent()
		ended := make(chan error, 1)
		go func() { _, err := p.Read(make([]byte, 1)); ended <- err }()
		synctest.Wait()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != io.EOF {
			t.Errorf("reading ended with %v", err)
		}
		if _, err := p.Write([]byte("\n")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("writing gives %v", err)
		}
	})
}

// TestBackpressure: errors take memory, so they are not made without limit for
// somebody who does not read.
func TestBackpressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := parse(t, capture("> "+initialize, "< "+hello), Options{Missed: func(Miss) {}})
		p := s.Agent()
		var wg sync.WaitGroup
		wg.Go(func() {
			line := `{"id":"` + strings.Repeat("x", 1<<20) + `","method":"no"}` + "\n"
			for range 64 {
				if _, err := io.WriteString(p, line); err != nil {
					t.Error(err)
				}
			}
			p.CloseWrite()
		})
		synctest.Wait()
		p.mu.Lock()
		own := p.e.own
		p.mu.Unlock()
		if own < maxOwn || own > maxOwn+2<<20 {
			t.Errorf("%d bytes are waiting", own)
		}
		n, err := io.Copy(io.Discard, p)
		wg.Wait()
		if err != nil || n < 64<<20 {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// TestLarge: a frame of many megabytes, and more frames than are kept in memory.
func TestLarge(t *testing.T) {
	lines := []string{"> " + prompt(1, "s", "x"), "< " + chunk("s", strings.Repeat("y", 20<<20))}
	for i := range 30 {
		lines = append(lines, "< "+chunk("s", fmt.Sprint(i)+strings.Repeat("z", 1<<20)))
	}
	lines = append(lines, "< "+done(1))
	s := parse(t, capture(lines...), Options{})
	if s.spool.file == nil {
		t.Fatal("all of it is in memory")
	}
	conversation(t, s.Agent(), wireOf(lines...))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p := s.Agent()
	io.WriteString(p, prompt(1, "s", "x")+"\n")
	if _, err := io.Copy(io.Discard, p); err == nil {
		t.Error("a script that is closed can be played")
	}
}

// TestTogether: players of one script do not know of each other.
func TestTogether(t *testing.T) {
	for _, b := range captures(t) {
		s := parse(t, b, Options{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { conversation(t, s.Agent(), clientWire(t, b)) })
		}
		wg.Wait()
	}
}

//go:build linux

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"acp-shim/proxy"
	"acp-shim/record"
)

// peersLong is the variable with which the suite takes the time that it would
// like: a minute in which nobody reads, and every row in every form.
const peersLong = "ACP_SHIM_PEERS_LONG"

// peersTable names the file that the table of what was measured is written to.
const peersTable = "ACP_SHIM_PEERS_TABLE"

// peerRow is a way in which a peer of the shim's is hostile.
type peerRow struct {
	name  string
	agent string   // the words of hostile
	flags []string // of the shim
	// peak bounds the memory of the shim, in MiB.
	peak int
	// takes is how long it may take, 0 for half a minute.
	takes time.Duration
	waits bool   // most of the time
	vast  bool   // it takes hundreds of MiB of frames
	only  string // one form, where the others would show nothing else
	gaps  bool   // more comes than any disk takes, so that the capture may have gaps
	run   func(p *pair)
}

func (r *peerRow) limit() time.Duration {
	if r.takes == 0 {
		return 30 * time.Second
	}
	return r.takes
}

// The forms of a row: the profile, and whether a capture is written.
const (
	relay         = "none"
	relayRecorded = "none, recorded"
	agyBare       = "agy"
	agyRecorded   = "agy, recorded"
)

func (r *peerRow) forms() []string {
	switch {
	case os.Getenv(peersLong) != "":
		return []string{relay, relayRecorded, agyBare, agyRecorded}
	case r.only != "":
		return []string{r.only}
	}
	return []string{relay, agyRecorded}
}

// measured is what the table says of one row in one form.
type measured struct {
	row, form  string
	peak, rest int // KiB
	bound      int // MiB
	took, end  time.Duration
}

// TestPeers: whatever a peer does, the shim keeps its promises, in bounded memory
// and time.
func TestPeers(t *testing.T) {
	t.Parallel() // with other tests that wait
	var (
		mu  sync.Mutex
		all []measured
	)
	var waiting sync.WaitGroup
	for _, row := range peerRows() {
		forms := row.forms()
		if unhurried > 1 {
			forms = forms[len(forms)-1:] // with recording, where there is a form that has it
		}
		for _, form := range forms {
			try := func() {
				t.Run(strings.ReplaceAll(row.name, " ", "-")+"/"+strings.ReplaceAll(form, ", ", "-"), func(t *testing.T) {
					m := row.measure(t, form)
					mu.Lock()
					defer mu.Unlock()
					all = m.among(all)
				})
			}
			if row.waits {
				waiting.Go(try) // it takes time and no processor
			} else {
				try()
			}
		}
	}
	waiting.Wait()
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "peer\tprofile\tpeak\tbound\tafter\ttook\tend")
	for _, m := range all {
		fmt.Fprintf(w, "%s\t%s\t%d MiB\t%d MiB\t%d MiB\t%.1f s\t%.2f s\n", m.row, m.form, m.peak>>10, m.bound, m.rest>>10, m.took.Seconds(), m.end.Seconds())
	}
	w.Flush()
	t.Log("\n" + table.String())
	if path := os.Getenv(peersTable); path != "" {
		if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// among adds a row to a table, in which there is one line of those with the same
// name: the worst.
func (m measured) among(all []measured) []measured {
	for i := range all {
		if x := &all[i]; x.row == m.row && x.form == m.form {
			x.peak, x.rest = max(x.peak, m.peak), max(x.rest, m.rest)
			x.took, x.end = max(x.took, m.took), max(x.end, m.end)
			return all
		}
	}
	return append(all, m)
}

// measure runs a row in one form.
func (r *peerRow) measure(t *testing.T, form string) measured {
	p := newStage(t).pair(r, strings.HasPrefix(form, agyBare), strings.HasSuffix(form, "recorded"))
	began := time.Now()
	r.run(p)
	m := measured{row: r.name, form: form, bound: r.peak, rest: memory(p.cmd.Process.Pid, "VmRSS:")}
	m.took = time.Since(began)
	m.end = p.finish()
	m.peak = p.peak
	if unhurried == 1 && m.peak > r.peak<<10 {
		t.Errorf("the shim took %d MiB, and %d is the bound", m.peak>>10, r.peak)
	}
	return m
}

// finish ends the client, and holds the shim to what it promises of the end. It
// tells how long that took.
func (p *pair) finish() time.Duration {
	p.t.Helper()
	p.writing.Lock()
	p.in.Close()
	p.writing.Unlock()
	began := time.Now()
	p.until("the end of the output", func() bool { return p.ended })
	select {
	case <-p.exited:
	case <-time.After(slowly(time.Second)):
		p.t.Errorf("the shim does not end with its output")
		p.bite()
		<-p.exited
	}
	took := time.Since(began)
	// Agents have two seconds to end by themselves.
	if limit := slowly(3 * time.Second); took > limit {
		p.t.Errorf("the end took %v, and %v is the limit", took, limit)
	}
	if left := p.gone(slowly(time.Second)); len(left) > 0 {
		p.t.Errorf("a second after the end there is still %v", left)
	}
	if s, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		p.t.Errorf("the shim ended by a signal: %v", s.Signal())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, n := range p.due {
		if n != 0 {
			p.t.Errorf("request %.40s has %d answers too few", id, n)
		}
	}
	if len(p.stray) > 0 && !p.doubles {
		p.t.Errorf("%d answers to nothing, as %s", len(p.stray), p.stray[0])
	}
	if p.capture != "" {
		p.whole()
	}
	return took
}

// whole holds the capture to what the client has written and read.
func (p *pair) whole() {
	c, err := record.Open(p.capture)
	if err != nil {
		p.t.Error(err)
		return
	}
	defer c.Close()
	var next uint64 = 1
	var gaps record.Gap
	ended := false
	from, to := sha256.New(), sha256.New()
	for e, err := range c.Entries() {
		if err != nil {
			p.t.Errorf("the capture: %v", err)
			var damaged *record.LineError
			if !errors.As(err, &damaged) {
				return
			}
			continue
		}
		if e.Header != nil {
			continue
		}
		if gap, ok := e.Gap(); ok {
			if gap.First != next {
				p.t.Errorf("a gap begins at %d, after %d", gap.First, next-1)
			}
			gaps.Frames, gaps.Bytes = gaps.Frames+gap.Frames, gaps.Bytes+gap.Bytes
			next = gap.Last + 1
		}
		if e.Seq != next {
			p.t.Errorf("seq %d follows %d", e.Seq, next-1)
		}
		next = e.Seq + 1
		ended = e.Event == "end"
		if !e.IsFrame() {
			continue
		}
		if e.From == proxy.Client && !e.Again {
			from.Write(e.Received())
		}
		if e.To == proxy.Client {
			to.Write(e.Sent())
		}
	}
	if !ended && unhurried > 1 && strings.Contains(p.errText(), "was left unfinished, its disk is slow") {
		return // what the race detector watches may not be done in the second there is, and says so
	}
	if !ended {
		p.t.Error("the capture does not end in order")
	}
	if gaps.Frames > 0 && !p.row.gaps {
		p.t.Errorf("the capture has gaps of %d frames, %d bytes", gaps.Frames, gaps.Bytes)
	}
	if p.inexact || gaps.Frames > 0 {
		return
	}
	if a, b := fmt.Sprintf("%x", from.Sum(nil)), fmt.Sprintf("%x", p.sent.Sum(nil)); a != b {
		p.t.Error("the capture does not have what the client has written")
	}
	if a, b := fmt.Sprintf("%x", to.Sum(nil)), fmt.Sprintf("%x", p.got.Sum(nil)); a != b {
		p.t.Error("the capture does not have what the client has read")
	}
}

// TestPeersWatchdog: a row that hangs says where everybody waits.
func TestPeersWatchdog(t *testing.T) {
	p := newStage(t).pair(&peerRow{agent: "puppet"}, true, false)
	p.hello()
	p.bite()
	<-p.exited
	<-p.errEnd
	if text := p.stderr.String(); !strings.Contains(text, "readClient") || !strings.Contains(text, "readAgent") {
		t.Errorf("it says %q", text)
	}
}

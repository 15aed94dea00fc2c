package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"acp-shim/internal/wire"
)

// DriveOptions say how the recorded client is played.
type DriveOptions struct {
	// Cwd stands in for the recorded working directories, "" leaves them.
	Cwd string
	// Patience is how long the agent may say nothing while something is waited
	// for, 0 for a minute.
	Patience time.Duration
	// Frame is told each line that crosses, in order, as it is sent or has been
	// received. It must not keep the line. Nil is for nobody.
	Frame func(fromClient bool, line []byte)
}

// Summary is what became of a conversation with an agent.
type Summary struct {
	// Sent are the frames that the client had to send, Requests the requests
	// among them, Answered those that the agent has answered.
	Sent, Requests, Answered int
	// Failed counts answers that are an error where a result was recorded.
	Failed int
	// Received are the agent's frames, Asked its requests, and Unlike those that
	// no recorded one is like.
	Received, Asked, Unlike int
	// Unanswered tells the requests that were answered in the recording, or cut off
	// from their answer by its end, and not answered by this agent.
	Unanswered []string
}

// Drive plays the recorded client for an agent: what the agent reads is written to
// in, what it says is read from out. Frames go out in the recorded order, each
// when what the client had seen before it has come: the answers, and of a turn
// that goes on, something of it. Requests of the agent's are answered as the
// recorded client has answered the like; a permission that it was not asked for is
// cancelled, another request is an error.
//
// At the end in is closed, and out read to its end. Drive fails when the agent ends
// or says nothing for too long; the summary then tells how far it came.
func (s *Script) Drive(ctx context.Context, in io.WriteCloser, out io.Reader, o DriveOptions) (*Summary, error) {
	if s.oneSided {
		return nil, errors.New("the recording has no client in it, but an agent's output alone")
	}
	if o.Patience <= 0 {
		o.Patience = time.Minute
	}
	d := newDriver(s, in, o)
	defer context.AfterFunc(ctx, func() { in.Close() })()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.read(out)
	}()
	err := d.play(ctx)
	in.Close()
	// What an agent says while it ends is part of it.
	select {
	case <-done:
	case <-time.After(o.Patience):
		err = errors.Join(err, fmt.Errorf("the agent's output did not end within %v of the end of its input", o.Patience))
		if c, ok := out.(io.Closer); ok {
			c.Close()
			<-done
		}
	case <-ctx.Done():
		if c, ok := out.(io.Closer); ok {
			c.Close()
			<-done
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	sum := d.sum
	for _, i := range d.order {
		sum.Unanswered = append(sum.Unanswered, fmt.Sprintf("%s of line %d", s.items.at(i).method, s.items.at(i).line))
	}
	return &sum, err
}

// driver is a conversation of a recorded client with an agent. The goroutine of
// [Script.Drive] writes, another one reads.
type driver struct {
	s *Script
	o DriveOptions

	writing sync.Mutex // one line at a time, told in the order of writing
	in      io.WriteCloser

	mu      sync.Mutex
	changed chan struct{} // closed, and replaced, with each frame of the agent's
	ended   error
	sent    int32               // items up to here are sent
	waiting map[string]int32    // requests sent, by id
	order   []int32             // the same, in order
	heard   map[string]int      // frames of a session that came of the agent's own accord, by the recorded name
	asks    map[string]int      // requests among them
	base    map[int32][2]int    // of a request: the two when it was sent
	needs   map[[2]int32][2]int // see need
	live    map[string]string   // the agent's name of a session to the recorded one
	changes changes
	replies []reply
	answers answers
	sum     Summary
}

// reply is an answer to the agent, which goes out when the frames before the
// recorded one are out.
type reply struct {
	after int32
	line  []byte
}

func newDriver(s *Script, in io.WriteCloser, o DriveOptions) *driver {
	d := &driver{s: s, o: o, in: in, changed: make(chan struct{}), waiting: map[string]int32{}, heard: map[string]int{},
		asks: map[string]int{}, base: map[int32][2]int{}, live: map[string]string{}, needs: map[[2]int32][2]int{}}
	seen := map[string]bool{}
	for _, b := range s.blocks {
		if o.Cwd != "" && b.cwd != "" && !seen[b.cwd] {
			seen[b.cwd] = true
			if c := newPaths(b.cwd, o.Cwd); c != nil {
				d.changes = append(d.changes, c)
			}
		}
	}
	d.answers = newAnswers(s)
	return d
}

// play sends what the client has sent.
func (d *driver) play(ctx context.Context) error {
	for i := range d.s.items.n {
		it := d.s.items.at(i)
		if it.side != client || it.block < 0 {
			continue
		}
		if err := d.await(ctx, func() bool { return d.ready(i) }, it); err != nil {
			return err
		}
		if err := d.send(i, it); err != nil {
			return err
		}
	}
	d.mu.Lock()
	d.sent = d.s.items.n
	d.mu.Unlock()
	return d.await(ctx, func() bool { return d.ready(d.s.items.n) }, nil)
}

func (d *driver) send(i int32, it *item) error {
	line, err := d.s.line(i)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.sent = i
	line = d.changes.json(line)
	d.sum.Sent++
	if it.kind == wire.Request {
		d.sum.Requests++
		d.waiting[it.id] = i
		d.base[i] = [2]int{d.heard[it.session], d.asks[it.session]}
		if it.link >= 0 || d.s.blocks[it.block].cut {
			d.order = append(d.order, i)
		}
	}
	d.mu.Unlock()
	return d.write(line)
}

func (d *driver) write(line []byte) error {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.o.Frame != nil {
		d.o.Frame(true, line)
	}
	// An agent that takes nothing is like one that says nothing.
	defer time.AfterFunc(d.o.Patience, func() { d.in.Close() }).Stop()
	if _, err := d.in.Write(line); err != nil {
		return fmt.Errorf("writing to the agent: %w", err)
	}
	return nil
}

// await waits until the client may go on, and meanwhile answers the agent.
func (d *driver) await(ctx context.Context, ready func() bool, next *item) error {
	limit := time.NewTimer(d.o.Patience)
	defer limit.Stop()
	for {
		d.mu.Lock()
		var line []byte
		for n, r := range d.replies {
			if r.after <= d.sent {
				line = r.line
				d.replies = append(d.replies[:n:n], d.replies[n+1:]...)
				break
			}
		}
		ok, ended, changed := line == nil && ready(), d.ended, d.changed
		d.mu.Unlock()
		switch {
		case line != nil:
			if err := d.write(line); err != nil {
				return err
			}
			continue
		case ok:
			return nil
		case ended != nil:
			return fmt.Errorf("the agent ended its output before %s: %w", d.goal(next), ended)
		}
		select {
		case <-changed:
			limit.Reset(d.o.Patience)
		case <-limit.C:
			return fmt.Errorf("the agent said nothing for %v, and %s", d.o.Patience, d.lacking())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *driver) goal(next *item) string {
	if next == nil {
		return "all was answered"
	}
	return fmt.Sprintf("the client's %s of line %d was due", next.method, next.line)
}

func (d *driver) lacking() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.order) == 0 {
		return "does not take what the client sends"
	}
	it := d.s.items.at(d.order[0])
	return fmt.Sprintf("%s of line %d has no answer", it.method, it.line)
}

// ready tells that what was recorded before item i has come: the answers to the
// requests before it, and of each turn that still went on at least one frame, and
// as many requests as the client had left unanswered.
func (d *driver) ready(i int32) bool {
	for _, q := range d.order {
		it := d.s.items.at(q)
		if it.link >= 0 && it.link < i || i == d.s.items.n {
			return false
		}
		need := d.need(q, i)
		base := d.base[q]
		if need[0] > 0 && d.heard[it.session] == base[0] || d.asks[it.session]-base[1] < need[1] {
			return false
		}
	}
	return true
}

// need counts what of the agent's own accord was recorded between a request and
// item i, all frames and the requests among them.
func (d *driver) need(q, i int32) (n [2]int) {
	if n, ok := d.needs[[2]int32{q, i}]; ok {
		return n
	}
	it := d.s.items.at(q)
	for _, st := range d.s.blocks[it.block].steps {
		if st.item >= i {
			break
		}
		switch said := d.s.items.at(st.item); {
		case st.kind != send || said.session != it.session:
		case said.kind == wire.Request:
			n[0], n[1] = n[0]+1, n[1]+1
		case said.kind == wire.Notification:
			n[0]++
		}
	}
	d.needs[[2]int32{q, i}] = n
	return n
}

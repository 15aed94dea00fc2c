package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// patience is how long a request may wait for its answer: a prompt waits for a
// process of its own while others run turns.
const patience = 3 * time.Minute

// frame is what the client reads of a frame.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string `json:"sessionId"`
		Update    struct {
			Kind string `json:"sessionUpdate"`
		} `json:"update"`
		Options []struct {
			OptionID string `json:"optionId"`
		} `json:"options"`
	} `json:"params"`
	Result *struct {
		SessionID  string `json:"sessionId"`
		StopReason string `json:"stopReason"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// asking is a request that has no answer yet. Where it is one during which updates
// come, turn is its session.
type asking struct {
	answer chan frame
	turn   *session
}

// client is the one connection.
type client struct {
	writing sync.Mutex
	in      io.WriteCloser

	pause chan time.Duration // for the reader, which is slow at times

	mu       sync.Mutex
	next     int
	open     map[string]asking // by id
	sessions map[string]*session
	frames   int
	bytes    int64
	requests int
	got      map[uint64]int // how often a line came
	seed     maphash.Seed
	faults   []string
	ended    chan struct{}
}

func newClient(in io.WriteCloser, out *os.File) *client {
	c := &client{in: in, pause: make(chan time.Duration, 1), open: map[string]asking{}, sessions: map[string]*session{},
		got: map[uint64]int{}, seed: maphash.MakeSeed(), ended: make(chan struct{})}
	go c.read(out)
	return c
}

func (c *client) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) < 20 {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

func (c *client) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) == 0 {
		return nil
	}
	return fmt.Errorf("%s", strings.Join(c.faults, "\n"))
}

func (c *client) read(out *os.File) {
	defer close(c.ended)
	in := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			c.line(line)
		}
		if err != nil {
			return
		}
		select {
		case d := <-c.pause:
			time.Sleep(d)
		default:
		}
	}
}

func (c *client) line(line []byte) {
	var f frame
	if err := json.Unmarshal(line, &f); err != nil {
		c.fault("the client got what is no frame: %.200q", line)
		return
	}
	id := string(f.ID)
	c.mu.Lock()
	c.frames++
	c.bytes += int64(len(line))
	c.got[maphash.Bytes(c.seed, line)]++
	s := c.sessions[f.Params.SessionID]
	asked, known := c.open[id]
	if f.Method == "" {
		delete(c.open, id)
	}
	c.mu.Unlock()
	switch {
	case f.Method == "" && !known:
		c.fault("an answer to nothing, or a second one: %.300s", line)
	case f.Method == "":
		if asked.turn != nil {
			asked.turn.listens.Store(false)
		}
		asked.answer <- f
	case id != "":
		c.asked(s, id, &f)
	case f.Method == "session/update":
		s.hears(c, f.Params.Update.Kind, line)
	}
}

// asked answers a request of an agent's, unless the session has a user who does
// not look.
func (c *client) asked(s *session, id string, f *frame) {
	answer := `"error":{"code":-32601,"message":"not here"}`
	if f.Method == "session/request_permission" {
		if s != nil && s.away.Load() {
			return
		}
		if len(f.Params.Options) > 0 {
			answer = fmt.Sprintf(`"result":{"outcome":{"outcome":"selected","optionId":%q}}`, f.Params.Options[0].OptionID)
		}
	}
	// Not in the reader's way: the shim may have to be read before it reads.
	go c.write(`{"jsonrpc":"2.0","id":` + id + `,` + answer + "}\n")
}

func (c *client) write(line string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	io.WriteString(c.in, line) // where the shim has gone, answers are missing
}

func (c *client) tell(method, params string) {
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`+"\n", method, params))
}

// ask sends a request and returns its id and the way on which its answer comes.
func (c *client) ask(turn *session, method, params string) (string, <-chan frame) {
	if turn != nil {
		turn.listens.Store(true)
	}
	ch := make(chan frame, 1)
	c.mu.Lock()
	c.next++
	c.requests++
	id := fmt.Sprint(c.next)
	c.open[id] = asking{ch, turn}
	c.mu.Unlock()
	c.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`+"\n", id, method, params))
	return id, ch
}

// await waits for an answer.
func (c *client) await(what string, ch <-chan frame) (frame, bool) {
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case f := <-ch:
		return f, true
	case <-c.ended:
		select {
		case f := <-ch:
			return f, true
		default:
		}
		c.fault("the shim ended before it answered %s", what)
	case <-t.C:
		c.fault("%s has no answer after %v", what, patience)
	}
	return frame{}, false
}

func (c *client) call(method, params string) (frame, bool) {
	_, ch := c.ask(nil, method, params)
	return c.await(method+" "+params, ch)
}

package client

import (
	"context"
	"errors"
	"time"

	"github.com/tidwall/gjson"
)

// Call is a request that was sent.
type Call struct {
	Method, ID string
	// Index is the request's place among the connection's lines.
	Index int

	conn   *Conn
	sent   time.Time
	done   chan struct{}
	failed error
	answer Answer
}

// Answer is what came back.
type Answer struct {
	Sent, At time.Time
	// Line is the whole answer; Result and Error are its members, of which one
	// exists.
	Line []byte
	// Index is its place among the connection's lines.
	Index         int
	Result, Error gjson.Result
}

// Took is the time from the request to its answer.
func (a Answer) Took() time.Duration { return a.At.Sub(a.Sent) }

// Done is closed when the call is answered, or will not be any more.
func (c *Call) Done() <-chan struct{} { return c.done }

// Wait waits for the answer, which may be an error of the agent's: see
// Answer.Error. An error of Wait's means that there is none: a *GoneError, a
// *LateError, a *TooMuchError, a *DeafError, an *EmptyError, or what kept it from
// being sent.
func (c *Call) Wait(ctx context.Context) (Answer, error) {
	select {
	case <-c.done:
	default:
		select {
		case <-c.done:
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return Answer{}, &LateError{c.Method, time.Since(c.sent)}
			}
			return Answer{}, ctx.Err()
		}
	}
	switch {
	case c.failed != nil:
		return Answer{}, c.conn.unwritten(c.failed, "it answered "+c.Method)
	case c.answer.Line == nil:
		return Answer{}, c.conn.lost("it answered " + c.Method)
	case !c.answer.Result.Exists() && !c.answer.Error.Exists():
		return Answer{}, &EmptyError{c.Method}
	}
	return c.answer, nil
}

// Result waits for the answer as Wait does, and takes an error of the agent's for
// a failure, a *RefusedError.
func (c *Call) Result(ctx context.Context) (gjson.Result, error) {
	a, err := c.Wait(ctx)
	if err == nil && a.Error.Exists() {
		err = &RefusedError{c.Method, a.Error}
	}
	return a.Result, err
}

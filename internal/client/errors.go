package client

import (
	"fmt"
	"time"

	"github.com/tidwall/gjson"
)

// LateError is a request without an answer in time.
type LateError struct {
	Method string
	After  time.Duration
}

func (e *LateError) Error() string {
	exact := time.Millisecond
	if e.After > 10*time.Second {
		exact = time.Second
	}
	return fmt.Sprintf("the agent did not answer %s within %v", e.Method, e.After.Round(exact))
}

// RefusedError is a request that was answered with an error.
type RefusedError struct {
	Method string
	// Object is the error, as the agent sent it.
	Object gjson.Result
}

// Code is the error's code.
func (e *RefusedError) Code() int64 { return e.Object.Get("code").Int() }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the agent answered %s with the error %d %q", e.Method, e.Code(), e.Object.Get("message").Str)
}

// GoneError is an agent that ended, or closed its output.
type GoneError struct {
	// Before says what had not happened yet, Exit how the process ended, empty if
	// it still runs; Stderr is the last it said there.
	Before, Exit, Stderr string
}

func (e *GoneError) Error() string {
	how := "the agent " + e.Exit
	if e.Exit == "" {
		how = "the agent closed its output"
	}
	return how + " before " + e.Before
}

// TooMuchError is an agent that said more than is kept.
type TooMuchError struct{ Max int }

func (e *TooMuchError) Error() string {
	return fmt.Sprintf("the agent has said more than %d MiB, and nobody listens any more", e.Max>>20)
}

// DeafError is an agent that asks and asks, and does not read what it is answered.
type DeafError struct{ Owed int }

func (e *DeafError) Error() string {
	return fmt.Sprintf("the agent has asked for more than it reads: %d answers wait for it, and nobody listens any more", e.Owed)
}

// EmptyError is an answer that says nothing (jsonrpc.org/specification, section 5:
// it has a result or an error).
type EmptyError struct{ Method string }

func (e *EmptyError) Error() string {
	return "the agent answered " + e.Method + " with neither a result nor an error"
}

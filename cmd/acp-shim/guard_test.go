package main

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestKeepGuard: a guard that cannot be started is tried for again, ever more rarely,
// and told of once; one that somebody ends has a follower.
func TestKeepGuard(t *testing.T) {
	var slept []time.Duration
	var told []error
	plan := []error{nil, syscall.EAGAIN, syscall.EMFILE, nil, syscall.EAGAIN, syscall.EAGAIN, syscall.EAGAIN, syscall.EAGAIN, syscall.EAGAIN, syscall.EAGAIN, syscall.EAGAIN}
	over := make(chan struct{})
	go func() {
		defer close(over)
		keepGuard(func(d time.Duration) { slept = append(slept, d) }, func() (<-chan struct{}, error) {
			if len(plan) == 0 {
				runtime.Goexit()
			}
			err := plan[0]
			plan = plan[1:]
			gone := make(chan struct{})
			close(gone)
			return gone, err
		}, func(err error) { told = append(told, err) })
	}()
	<-over
	want := []time.Duration{1, 2, 4, 1, 2, 4, 8, 16, 32, 60, 60}
	for i := range want {
		want[i] *= time.Second
	}
	if !slices.Equal(slept, want) {
		t.Errorf("it slept %v", slept)
	}
	if !slices.Equal(told, []error{syscall.EAGAIN}) {
		t.Errorf("it told %v", told)
	}
}

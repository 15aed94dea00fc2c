package main

import (
	"os"
	"os/signal"
)

// onSignals keeps Ctrl-C, which the client's console sends to everybody, from
// ending the shim before the client's session/cancel arrives.
func (s *shim) onSignals() (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, os.Interrupt)
	go func() {
		for range ch {
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
	}
}

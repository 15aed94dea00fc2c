//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// onSignals makes the shim end in an orderly way when it is told to. SIGINT is
// caught and ignored: a Ctrl-C on the terminal of a client reaches the shim
// before the client's session/cancel does, and would end what shall go on. It
// is caught, not ignored in the system's sense, since a child would inherit
// that; the same for SIGPIPE, which stands for a stderr that nobody reads.
//
// That holds from the first moment on. Before there is a loop nothing has to be
// put in order, and the end comes at once, also where a disk holds up the start. When
// the loop is over there is a capture to end, which gets lateEnd; who signals again
// does not want to wait for it.
func (s *shim) onSignals() (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		late := 0
		for sig := range ch {
			switch sig {
			case syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
				code := 128 + int(sig.(syscall.Signal))
				loop := s.running.Load()
				if loop == nil {
					os.Exit(code)
				}
				s.log.Info("ending on a signal", "signal", sig.String())
				select {
				case <-s.over:
					if late++; late > 1 {
						os.Exit(s.codeOr(code))
					}
					time.AfterFunc(lateEnd, func() { os.Exit(s.codeOr(code)) })
				default:
					loop.Terminate(code, "a signal to acp-shim asked for it ("+sig.String()+")")
					go func() {
						// It may have come between the loop's end and that of Run.
						if <-s.over; s.code != code {
							time.Sleep(lateEnd)
							os.Exit(s.codeOr(code))
						}
					}()
				}
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
	}
}

// lateEnd is how long what is left to end goes on after a signal: all is over within a
// second of it.
const lateEnd = 900 * time.Millisecond

// codeOr is the exit code of a loop that is over, or that of a signal which cuts off
// what would have been an orderly end.
func (s *shim) codeOr(signalled int) int {
	if s.code != 0 {
		return s.code
	}
	return signalled
}

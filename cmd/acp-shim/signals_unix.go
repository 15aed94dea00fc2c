//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// onSignals makes the shim end in an orderly way when it is told to. SIGINT is
// caught and ignored: a Ctrl-C on the terminal of a client reaches the shim
// before the client's session/cancel does, and would end what shall go on. It
// is caught, not ignored in the system's sense, since a child would inherit
// that; the same for SIGPIPE, which stands for a stderr that nobody reads.
//
// That holds from the first moment on. Before there is a loop nothing has to be
// put in order, and the end comes at once, also where a disk holds up the start.
func (s *shim) onSignals() (stop func()) {
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGPIPE, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	go func() {
		for sig := range ch {
			switch sig {
			case syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
				code := 128 + int(sig.(syscall.Signal))
				loop := s.running.Load()
				if loop == nil {
					os.Exit(code)
				}
				s.log.Info("ending on a signal", "signal", sig.String())
				loop.Terminate(code)
			}
		}
	}()
	return func() {
		signal.Stop(ch)
		close(ch)
	}
}

//go:build unix

package agent

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func signalName(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	if name := unix.SignalName(status.Signal()); name != "" {
		return name
	}
	return "signal " + strconv.Itoa(int(status.Signal()))
}

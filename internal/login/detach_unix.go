//go:build unix

package login

import (
	"os/exec"
	"syscall"
)

// detach has the browser outlive the agent.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

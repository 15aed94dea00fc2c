//go:build unix

package login

import (
	"os"
	"os/exec"
	"syscall"
)

// detach has the browser outlive the agent.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// become turns this process into the command: its exit code, its terminal and the
// signals to it are then the command's own. It returns where that failed.
func become(cmd *exec.Cmd) int {
	syscall.Exec(cmd.Path, cmd.Args, os.Environ())
	return 126 // a shell's for a command that cannot be run
}

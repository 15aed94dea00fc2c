//go:build unix

package agent

import (
	"errors"
	"syscall"
)

const alwaysPrivateTemp = false

// ownSession makes the child the leader of a session and, by that, of a group:
// a terminal's Ctrl-C does not reach it, and the group has its number. Setpgid
// as well would fail, since a session's leader cannot change its group.
// Pdeathsig is not used: it is bound to the thread that starts the child, not
// to the process, and fires when the runtime ends that thread.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func textBusy(err error) bool { return errors.Is(err, syscall.ETXTBSY) }

// job is Windows's; a session does what it does here.
type job struct{}

func newJob(int) *job { return nil }
func (*job) close()   {}

//go:build !linux

package agent

// BecomeSubreaper is Linux's; elsewhere orphans go to the system's first
// process, which reaps them.
func BecomeSubreaper() (stop func(), err error) { return func() {}, nil }

// KillOrphans has nothing to kill where this process adopts nobody.
func KillOrphans() {}

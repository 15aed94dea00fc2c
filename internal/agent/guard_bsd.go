//go:build unix && !linux

package agent

import "os"

func ownBinary() (string, error) { return os.Executable() }

func nameGuard() {}

// closeInherited does nothing where a process cannot tell which of its
// descriptors are the runtime's own.
func closeInherited(int) {}

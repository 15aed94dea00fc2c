package doctor

import (
	"os"
	"os/exec"
)

func noexec(string) bool { return false }

// writable asks by doing: what Windows allows is not told by a mode.
func writable(dir string) bool {
	f, err := os.CreateTemp(dir, ".acp-shim-*")
	if err != nil {
		return false
	}
	f.Close()
	return os.Remove(f.Name()) == nil
}

func lookPath(name string) (string, error) { return exec.LookPath(name) }

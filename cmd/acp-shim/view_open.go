package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// openPage has the user's browser open a page. It does not wait for it.
func openPage(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("the page was not opened: %w", err)
	}
	var argv []string
	switch runtime.GOOS {
	case "darwin":
		argv = []string{"open", path}
	case "windows":
		// Not through cmd's start: what the shell makes of & and % in a name is
		// nothing that was meant.
		argv = []string{"rundll32", "url.dll,FileProtocolHandler", path}
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return errors.New("there is no display here, so the page was not opened")
		}
		argv = []string{"xdg-open", path}
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the page was not opened: %w", err)
	}
	return cmd.Process.Release()
}

package main

import (
	"errors"
	"os"
	"os/exec"

	"acp-shim/internal/settings"
)

// becomeAgent runs the agent with the shim's own streams.
func becomeAgent(set *settings.Settings) int {
	f, err := findAgent(set)
	if err != nil {
		return complain(err)
	}
	cmd := exec.Command(f.Path, f.Args...)
	cmd.Env = append(os.Environ(), f.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	if err != nil {
		return complain(err)
	}
	return 0
}

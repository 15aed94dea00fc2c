//go:build unix

package main

import (
	"os"
	"syscall"

	"acp-shim/internal/settings"
)

// becomeAgent leaves the process to the agent, with its streams as they are.
func becomeAgent(set *settings.Settings) int {
	f, err := findAgent(set)
	if err != nil {
		return complain(err)
	}
	env := append(os.Environ(), f.Env...)
	return complain(syscall.Exec(f.Path, append([]string{f.Path}, f.Args...), env))
}

package main

import (
	"os"
	"path/filepath"

	"acp-shim/internal/state"
)

// storedAgent is the name under which sessions are kept in the state directory.
const storedAgent = "agy"

// geminiHome is where the agent keeps its things: GEMINI_HOME, or .gemini in
// the user's home; "" where there is neither.
func geminiHome() string {
	home := os.Getenv("GEMINI_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".gemini")
	}
	return oneName(home)
}

// stateDirOf is the state directory, by a flag or the environment.
func stateDirOf(flag string) string {
	if flag != "" {
		return expandHome(flag)
	}
	return state.Path(os.Getenv)
}

// oneName is the name of a directory, there or not, that does not depend on the
// way to it: two shims that own sessions of one home must know that it is one.
func oneName(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real
	}
	if parent := filepath.Dir(abs); parent != abs {
		return filepath.Join(oneName(parent), filepath.Base(abs))
	}
	return abs
}

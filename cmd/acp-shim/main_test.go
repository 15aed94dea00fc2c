package main

import (
	"os"
	"testing"

	"acp-shim/internal/agent"
	"acp-shim/internal/faults"
)

// playsMain is the variable that makes the test binary the program under test.
// What the program starts of itself is recognised by its first argument: the
// guard gets no environment.
const playsMain = "ACP_SHIM_TEST_MAIN"

// plays are the other programs that the test binary is, by its first argument.
var plays = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if faults.Launches(os.Args) {
		os.Exit(faults.Launch(os.Args))
	}
	if len(os.Args) > 1 && plays[os.Args[1]] != nil {
		os.Exit(plays[os.Args[1]](os.Args[2:]))
	}
	if os.Getenv(playsMain) == "1" || len(os.Args) > 1 && (os.Args[1] == "sim" || os.Args[1] == agent.GuardArg) {
		os.Exit(start(os.Args))
	}
	// With the race detector every exit of what inherits this would take a second more.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Exit(m.Run())
}

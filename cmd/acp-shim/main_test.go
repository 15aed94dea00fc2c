package main

import (
	"os"
	"testing"

	"acp-shim/internal/agent"
)

// playsMain is the variable that makes the test binary the program under test.
// What the program starts of itself is recognised by its first argument: the
// guard gets no environment.
const playsMain = "ACP_SHIM_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(playsMain) == "1" || len(os.Args) > 1 && (os.Args[1] == "sim" || os.Args[1] == agent.GuardArg) {
		os.Exit(start(os.Args))
	}
	os.Exit(m.Run())
}

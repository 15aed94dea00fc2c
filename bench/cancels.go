package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
)

// cancelTimes runs the shim's own test of how long a cancel takes, with more runs
// than CI has, and prints its table. Each run waits for the second that an
// agent has to honour it.
func cancelTimes(runs int) error {
	test := exec.Command("go", "test", "-count=1", "-timeout=60m", "-run=^TestCancelLatency$", "-v", "./cmd/acp-shim")
	test.Dir = ".."
	test.Env = append(os.Environ(), fmt.Sprint("ACP_SHIM_LATENCY_RUNS=", runs))
	out, err := test.CombinedOutput()
	for _, line := range regexp.MustCompile(`(?m)^[^ =\-].*  .*$`).FindAll(out, -1) {
		fmt.Printf("%s\n", line)
	}
	if err != nil {
		return fmt.Errorf("a bound was missed, or the test failed: %v\n%s", err, out)
	}
	return nil
}

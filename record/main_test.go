package record

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("RECORD_TEST_UNTIL_KILLED"); path != "" {
		recordUntilKilled(path)
	}
	if dir := os.Getenv("RECORD_TEST_UNTIL_END"); dir != "" {
		recordUntilEnd(dir)
	}
	if path := os.Getenv("RECORD_TEST_WITH_CLOCK"); path != "" {
		recordWithClock(path)
	}
	goleak.VerifyTestMain(m)
}

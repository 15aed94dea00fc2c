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
	goleak.VerifyTestMain(m)
}

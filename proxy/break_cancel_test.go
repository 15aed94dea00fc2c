package proxy_test

import (
	"strings"
	"testing"

	"acp-shim/cancelshim"
)

// TestCancelledTurnIsOver: a turn that was being cancelled, and that the core has
// ended itself, is not cancelled at the cost of the next one.
func TestCancelledTurnIsOver(t *testing.T) {
	s := opened(t, cancelshim.Options{})
	s.Client(prompt(2))
	s.Client(cancelNotice)
	s.TooLong(1, `{"id":2,"result":{"stopReason":"end_turn","_meta":"`)
	s.Client(prompt(3))
	s.Forget()
	s.Fire("grace a")
	for _, line := range s.Output() {
		if strings.Contains(line, "discard") {
			t.Fatal("the process of the next turn was ended")
		}
	}
	s.Client(cancelNotice)
	s.Contains("agent1< " + cancelNotice)
}

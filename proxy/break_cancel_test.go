package proxy_test

import (
	"strings"
	"testing"

	"acp-shim/cancelshim"
)

// TestCancelledTurnIsOver: a turn that was being cancelled, and that the core has
// ended itself, is not cancelled at the cost of the next one, whether that comes
// before the end of the grace period or after it.
func TestCancelledTurnIsOver(t *testing.T) {
	for _, early := range []bool{true, false} {
		s := opened(t, cancelshim.Options{})
		s.Client(prompt(2))
		s.Client(cancelNotice)
		s.TooLong(1, `{"id":2,"result":{"stopReason":"end_turn","_meta":"`)
		s.Forget()
		if !early {
			s.Fire("grace a")
		}
		s.Client(prompt(3))
		if s.Armed("grace a") != 0 {
			t.Error("the next turn has a grace period")
		}
		for _, line := range s.Output() {
			if strings.Contains(line, "discard") {
				t.Fatal("the process of the next turn was ended")
			}
		}
		s.Agent(1, permission)
		s.Contains("client< " + permission)
		s.Client(cancelNotice)
		s.Contains("agent1< " + cancelNotice)
	}
}

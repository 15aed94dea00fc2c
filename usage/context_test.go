package usage

import "testing"

// TestContextOnly tells ACP's usage_update, which has no tokens of a turn, from what
// does have them.
func TestContextOnly(t *testing.T) {
	for first, want := range map[First]bool{
		{Frame: "usage_update", Path: "update.used"}:                    true,
		{Frame: "usage_update", Path: "update.size"}:                    true,
		{Frame: "usage_update", Path: "update.cost.amount"}:             true,
		{Frame: "usage_update", Path: "update._meta.totalTokens"}:       false,
		{Frame: "session/prompt", Path: "result.usage.totalTokens"}:     false,
		{Frame: "agent_message_chunk", Path: "update._meta.usage.used"}: false,
	} {
		if got := first.Context(); got != want {
			t.Errorf("%+v: %v", first, got)
		}
	}
}

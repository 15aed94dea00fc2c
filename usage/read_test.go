package usage

import "testing"

func TestRead(t *testing.T) {
	for _, row := range []struct {
		frame string
		want  Totals
		found bool
	}{
		{`{"params":{"update":{"sessionUpdate":"usage_update","used":5,"size":100}}}`, Totals{Used: 5, Size: 100}, true},
		{`{"params":{"update":{"sessionUpdate":"plan","used":5,"usage":1}}}`, Totals{}, false},
		{`{"result":{"usage":{"inputTokens":1,"output_tokens":2,"thoughtTokens":3,"cachedReadTokens":4,"totalTokens":5}}}`, Totals{Input: 1, Output: 2, Thought: 3, Cached: 4, Total: 5}, true},
		{`{"result":{"_meta":{"quota":{"token_count":{"input_tokens":1,"output_tokens":2}}}}}`, Totals{Input: 1, Output: 2}, true},
		{`{"result":{"usage":{"inputTokens":-1,"outputTokens":"7","total_tokens":1e300}}}`, Totals{}, false},
		{`{"result":{"usage":7}}`, Totals{}, false},
		{`{"result":{"stopReason":"end_turn"}}`, Totals{}, false},
	} {
		var got Totals
		if found := got.Read([]byte(row.frame)); got != row.want || found != row.found {
			t.Errorf("%s: %+v, %v", row.frame, got, found)
		}
	}
}

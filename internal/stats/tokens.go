package stats

import (
	"bytes"

	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
	"acp-shim/usage"
)

// tokens finds what a frame reports of a turn's tokens where the protocol has
// them: usage_update, and the usage of a prompt's result; and where gemini and
// codex put them, in the result's _meta.quota. Package usage, which looks in more
// places, works on live traffic only.
func tokens(r *trace.Record, t *usage.Totals) bool {
	if !bytes.Contains(r.Body, []byte("usage")) && !bytes.Contains(r.Body, []byte("quota")) {
		return false
	}
	found := false
	take := func(v gjson.Result, to *int64) {
		// A count below zero, or above what a float64 holds exactly, is none.
		if v.Type == gjson.Number && v.Num >= 0 && v.Num <= 1<<53 {
			*to, found = int64(v.Num), true
		}
	}
	if r.Update == "usage_update" {
		u := gjson.GetBytes(r.Body, "params.update")
		take(u.Get("used"), &t.Used)
		take(u.Get("size"), &t.Size)
		return found
	}
	if r.Kind != trace.Response || r.Failed {
		return false
	}
	for _, at := range []string{"result.usage", "result._meta.quota.token_count"} {
		u := gjson.GetBytes(r.Body, at)
		for _, f := range []struct {
			names []string
			to    *int64
		}{
			{[]string{"inputTokens", "input_tokens"}, &t.Input},
			{[]string{"outputTokens", "output_tokens"}, &t.Output},
			{[]string{"thoughtTokens", "thought_tokens"}, &t.Thought},
			{[]string{"cachedReadTokens", "cached_read_tokens"}, &t.Cached},
			{[]string{"totalTokens", "total_tokens"}, &t.Total},
		} {
			for _, name := range f.names {
				take(u.Get(name), f.to)
			}
		}
	}
	return found
}

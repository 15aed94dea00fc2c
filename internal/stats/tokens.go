package stats

import "acp-shim/internal/trace"

// reports tells a frame that may say what a turn has used.
func reports(r *trace.Record) bool {
	return r.Update == "usage_update" || r.Kind == trace.Response && !r.Failed
}

package stats

import (
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
	"acp-shim/usage"
)

// about is what is known of a run at a point of it: when it began, which agent it
// is, and which model each session has.
type about struct {
	began  time.Time
	build  string
	models map[string]string
	asked  map[uint64]string // models that were asked for, by the seq of the request
}

func (a *about) add(r *trace.Record) {
	switch r.Kind {
	case trace.Header:
		if !r.Continued {
			*a = about{began: r.Header.Start, models: map[string]string{}, asked: map[uint64]string{}}
		}
	case trace.Request:
		if model := usage.ModelSet(r.Method, params(r.Body)); model != "" && r.From.Gen() == 0 && a.asked != nil {
			a.asked[r.Seq] = model
		}
	case trace.Response:
		a.answered(r)
	}
}

func params(frame []byte) []byte { return []byte(gjson.GetBytes(frame, "params").Raw) }

func (a *about) answered(r *trace.Record) {
	if r.Request == nil || r.From.Gen() == 0 || r.Failed || a.models == nil {
		return
	}
	if r.Method == acp.AgentMethodInitialize {
		if info := gjson.GetBytes(r.Body, "result.agentInfo"); info.Exists() {
			a.build = info.Get("name").Str + " " + info.Get("version").Str
		}
		return
	}
	if !usage.SetsModel(r.Method) {
		return
	}
	model := a.asked[r.Request.Seq]
	delete(a.asked, r.Request.Seq)
	if model == "" {
		model = usage.ModelIn([]byte(gjson.GetBytes(r.Body, "result").Raw))
	}
	if model != "" && r.Session != "" {
		a.models[r.Session] = model
	}
}

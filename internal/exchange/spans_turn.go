package exchange

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
)

// turn is a turn that is over, or cut off where end is 0, and its tools.
func (s *Spans) turn(of *turn, end time.Duration) error {
	cut := end == 0
	if cut {
		end = s.last
	}
	p := of.Prompt
	span := otlpSpan{TraceID: s.id(16, "trace", p.Seq), SpanID: s.id(8, "turn", p.Seq), Name: "invoke_agent", Kind: kindClient,
		Start: s.at(p.T), End: s.at(end)}
	if s.agent.name != "" {
		span.Name += " " + s.agent.name
	}
	a := &span.Attributes
	a.str("gen_ai.operation.name", "invoke_agent")
	s.common(a, of)
	a.str("gen_ai.agent.version", s.agent.version)
	a.str("gen_ai.request.model", s.models.of(of.Session))
	a.num("gen_ai.usage.input_tokens", of.usage.Input)
	a.num("gen_ai.usage.output_tokens", of.usage.Output)
	a.num("gen_ai.usage.cache_read.input_tokens", of.usage.Cached)
	if of.Stop != "" {
		a.list("gen_ai.response.finish_reasons", show.Begin(of.Stop, 100))
	}
	a.str("jsonrpc.request.id", plainID(p.ID))
	a.code("acp.seq", int64(p.Seq))
	a.num("acp.agent.process", int64(of.process))
	if of.Sent > p.T {
		a.seconds("acp.prompt.held", of.Sent-p.T)
	}
	if of.First > 0 {
		a.seconds("acp.time_to_first_chunk", of.First-p.T)
	}
	a.num("acp.chunks", int64(of.Chunks))
	a.num("acp.chunk_bytes", int64(of.Bytes))
	a.seconds("acp.longest_gap", of.LongestGap)
	a.num("gen_ai.usage.reasoning.output_tokens", of.usage.Thought)
	a.num("acp.context.used", of.usage.Used)
	a.num("acp.context.size", of.usage.Size)
	a.is("acp.cut_off", cut)
	if s.Content {
		a.str("gen_ai.input.messages", messages("user", "", &of.prompt))
		a.str("gen_ai.output.messages", messages("assistant", of.Stop, &of.answer))
	}
	s.failure(&span, of.failure)
	if err := s.put(&span); err != nil {
		return err
	}
	for i := range of.Tools {
		if err := s.tool(of, i, span.SpanID, end); err != nil {
			return err
		}
	}
	return nil
}

// common is what a turn's spans have in common.
func (s *Spans) common(a *attributes, of *turn) {
	provider := s.agent.name
	if provider == "" {
		provider = "acp"
	}
	a.str("gen_ai.provider.name", provider)
	a.str("gen_ai.agent.name", s.agent.name)
	a.str("gen_ai.conversation.id", show.Begin(of.Session, 1000))
}

// tool is a call of a turn. Its title tells what it does to what, so that the kind,
// or an MCP tool's name, stands for it.
func (s *Spans) tool(of *turn, i int, parent string, end time.Duration) error {
	call, x := of.Tools[i], of.tool(of.Tools[i].ID)
	if x == nil {
		return nil
	}
	span := otlpSpan{TraceID: s.id(16, "trace", of.Prompt.Seq), SpanID: s.id(8, "tool", x.seq), Parent: parent, Kind: kindInternal,
		Start: s.at(call.Start), End: s.at(end)}
	if call.End > 0 {
		span.End = s.at(call.End)
	}
	name := show.Begin(x.name, 200)
	if name == "" {
		name = show.Begin(call.Kind, 200)
	}
	if name == "" {
		name = "other" // what ACP has for a call without a kind
	}
	span.Name = "execute_tool " + name
	a := &span.Attributes
	a.str("gen_ai.operation.name", "execute_tool")
	s.common(a, of)
	a.str("gen_ai.tool.name", name)
	a.str("gen_ai.tool.call.id", show.Begin(call.ID, 200))
	a.str("acp.tool.kind", show.Begin(call.Kind, 200))
	a.str("acp.tool.status", show.Begin(call.Status, 200))
	a.code("acp.seq", int64(x.seq))
	a.is("acp.cut_off", call.End == 0)
	if s.Content {
		var title text
		title.b = []byte(show.Begin(call.Title, 1000))
		a.str("acp.tool.title", title.String())
		a.str("gen_ai.tool.call.arguments", x.input.String())
		a.str("gen_ai.tool.call.result", x.output.String())
	}
	if call.Status == "failed" {
		a.str("error.type", "failed")
		span.Status.Code = statusError
	}
	return s.put(&span)
}

// messages is a text in the form that gen_ai.input.messages and
// gen_ai.output.messages have on spans: JSON in a string.
func messages(role, finish string, t *text) string {
	if t.empty() {
		return ""
	}
	type part struct {
		Type    string `json:"type"`
		Content string `json:"content"`
	}
	b, _ := json.Marshal([]struct {
		Role   string `json:"role"`
		Parts  []part `json:"parts"`
		Finish string `json:"finish_reason,omitempty"`
	}{{role, []part{{"text", t.String()}}, show.Begin(finish, 100)}})
	return string(b)
}

// models remembers the models of sessions. The zero models is ready.
type models struct{ known map[string]string }

// maxModels bounds the sessions that are remembered.
const maxModels = 1 << 14

// see takes what sets or tells a session's model: session/set_model (which was in
// ACP before config options were), the answers that open a session, and config
// options.
func (m *models) see(r *trace.Record) {
	if r.Session == "" || r.Failed || !bytes.Contains(r.Body, []byte("odel")) {
		return
	}
	switch {
	case r.Kind == trace.Request && r.Method == "session/set_model":
		m.set(r.Session, gjson.GetBytes(r.Body, "params.modelId").Str)
	case r.Kind == trace.Response:
		x := gjson.GetBytes(r.Body, "result")
		m.set(r.Session, x.Get("models.currentModelId").Str)
		m.options(r.Session, x.Get("configOptions"))
	case r.Update == "config_option_update":
		m.options(r.Session, gjson.GetBytes(r.Body, "params.update.configOptions"))
	}
}

func (m *models) options(session string, list gjson.Result) {
	for _, o := range list.Array() {
		if o.Get("id").Str == "model" || o.Get("category").Str == "model" {
			m.set(session, o.Get("currentValue").Str)
			return
		}
	}
}

func (m *models) set(session, model string) {
	if model == "" {
		return
	}
	if m.known == nil || len(m.known) >= maxModels {
		m.known = map[string]string{}
	}
	m.known[session] = show.Begin(model, 200)
}

func (m *models) of(session string) string { return m.known[session] }

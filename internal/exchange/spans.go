package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/record"
)

// Spans makes spans of OpenTelemetry of a capture: of each turn, with its tools
// and the requests in it as children, and of each request outside of turns. A
// turn is a trace of its own, and gen_ai.conversation.id has the session. Ids
// depend on the run and on seqs: what is exported twice has the same.
//
// What was said, a tool's title, input and output, and the text of errors are
// there only with Content, and never with what looks like a secret.
type Spans struct {
	// Send takes a batch, an ExportTraceServiceRequest in OTLP's JSON.
	Send func(batch []byte, spans int) error
	// Service is service.name, Version this program's, Resource more of the
	// resource's attributes.
	Service, Version string
	Resource         map[string]string
	Content          bool

	talk   conversation
	batch  batch
	run    string
	start  time.Time
	last   time.Duration
	agent  agentInfo
	models models
}

type agentInfo struct{ name, version string }

// Add takes the next record.
func (s *Spans) Add(r *trace.Record) error {
	s.talk.content = s.Content
	if r.Kind == trace.Header {
		if err := s.header(r); err != nil {
			return err
		}
	}
	s.last = max(s.last, r.T)
	s.models.see(r)
	of, over := s.talk.add(r)
	switch {
	case over:
		return s.turn(of, r.T)
	case r.Kind == trace.Response && r.Request != nil && r.Request != r.Prompt && (r.Delivered() || r.Request.From != proxy.Client):
		if r.Method == acp.AgentMethodInitialize && !r.Failed {
			s.agent.of(gjson.GetBytes(r.Body, "result.agentInfo"))
		}
		return s.request(r, of)
	}
	return nil
}

func (a *agentInfo) of(info gjson.Result) {
	if name := info.Get("name").Str; name != "" {
		a.name, a.version = show.Begin(name, 200), show.Begin(info.Get("version").String(), 200)
	}
}

// header begins a run, whose spans are a resource's of their own.
func (s *Spans) header(r *trace.Record) error {
	if r.Continued {
		return nil
	}
	if err := s.cutOff(); err != nil {
		return err
	}
	if err := s.flush(); err != nil {
		return err
	}
	h := r.Header
	if s.run = h.Run; s.run == "" {
		s.run = fmt.Sprintf("%s %d", h.Start.UTC().Format(time.RFC3339Nano), h.PID)
	}
	s.start, s.last, s.models = h.Start, 0, models{}
	s.agent = agentInfo{name: string(record.RedactText([]byte(h.Agent.Name)))}
	s.agent.of(gjson.ParseBytes(h.Agent.Info))
	s.resource(h)
	return nil
}

func (s *Spans) resource(h *record.Header) {
	var a attributes
	if _, ok := s.Resource["service.name"]; !ok {
		a.str("service.name", s.Service)
	}
	a.str("service.version", h.Shim)
	a.str("service.instance.id", s.run)
	a.num("process.pid", int64(h.PID))
	for _, k := range slices.Sorted(maps.Keys(s.Resource)) {
		a.str(k, s.Resource[k])
	}
	s.batch.resource = otlpResource{Attributes: a}
	s.batch.scope = otlpScope{Name: "acp-shim", Version: s.Version}
}

// id is n bytes that depend on the run, the seq and what of it, in hexadecimal.
func (s *Spans) id(n int, what string, seq uint64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "acp-shim\n%s\n%s\n%d", s.run, what, seq))
	return hex.EncodeToString(sum[:n])
}

func (s *Spans) at(t time.Duration) string {
	return strconv.FormatInt(max(s.start.Add(t).UnixNano(), 0), 10)
}

func (s *Spans) put(span *otlpSpan) error {
	if err := s.batch.add(span); err != nil {
		return err
	}
	if s.batch.full() {
		return s.flush()
	}
	return nil
}

func (s *Spans) flush() error {
	if s.batch.n == 0 {
		return nil
	}
	n := s.batch.n
	body, err := s.batch.take()
	if err != nil {
		return err
	}
	return s.Send(body, n)
}

// request is a request that was answered, in a turn or outside of one.
func (s *Spans) request(r *trace.Record, of *turn) error {
	o := r.Request
	span := otlpSpan{TraceID: s.id(16, "trace", o.Seq), SpanID: s.id(8, "request", o.Seq), Name: show.Begin(r.Method, 200), Kind: kindClient,
		Start: s.at(o.T), End: s.at(r.T)}
	if of != nil {
		span.TraceID, span.Parent = s.id(16, "trace", of.Prompt.Seq), s.id(8, "turn", of.Prompt.Seq)
	}
	a := &span.Attributes
	a.str("rpc.system", "jsonrpc")
	a.str("rpc.method", span.Name)
	a.str("jsonrpc.protocol.version", "2.0")
	a.str("jsonrpc.request.id", plainID(o.ID))
	a.str("network.transport", "pipe")
	a.str("gen_ai.conversation.id", show.Begin(r.Session, 1000))
	a.str("acp.request.from", show.Peer(o.From))
	a.num("acp.agent.process", int64(r.Process()))
	a.code("acp.seq", int64(o.Seq))
	if o.Method == acp.ClientMethodSessionRequestPermission {
		a.str("acp.permission.outcome", show.Begin(gjson.GetBytes(r.Body, "result.outcome.outcome").Str, 100))
	}
	s.failure(&span, failed(r))
	return s.put(&span)
}

// plainID is an id as the attribute has it: text, without the quotes of a string.
func plainID(id string) string { return show.Begin(gjson.Parse(id).String(), 200) }

// failure is what an error response means for a span.
func (s *Spans) failure(span *otlpSpan, f failure) {
	if !f.is {
		return
	}
	span.Attributes.str("error.type", strconv.FormatInt(f.code, 10))
	span.Attributes.str("rpc.response.status_code", strconv.FormatInt(f.code, 10))
	span.Status.Code = statusError
	if s.Content {
		span.Status.Message = f.text
	}
}

func (s *Spans) cutOff() error {
	for _, of := range s.talk.rest() {
		if err := s.turn(of, 0); err != nil {
			return err
		}
	}
	return nil
}

// End makes spans of the turns that the capture's end has cut off, and sends what
// waits.
func (s *Spans) End() error {
	if err := s.cutOff(); err != nil {
		return err
	}
	return s.flush()
}

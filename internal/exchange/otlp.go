package exchange

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// The types of OTLP's JSON encoding, as far as they are needed here: ids are
// hexadecimal, 64-bit integers are strings, enums numbers (opentelemetry-proto,
// docs/specification.md). The generated types would bring protobuf and gRPC into
// the binary for this.
type (
	otlpSpan struct {
		TraceID    string     `json:"traceId"`
		SpanID     string     `json:"spanId"`
		Parent     string     `json:"parentSpanId,omitempty"`
		Name       string     `json:"name"`
		Kind       int        `json:"kind"`
		Start      string     `json:"startTimeUnixNano"`
		End        string     `json:"endTimeUnixNano"`
		Attributes attributes `json:"attributes,omitempty"`
		Status     otlpStatus `json:"status"`
	}
	otlpStatus struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	otlpResource struct {
		Attributes attributes `json:"attributes"`
	}
	otlpScope struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
	}
	attribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpValue struct {
		String *string    `json:"stringValue,omitempty"`
		Int    string     `json:"intValue,omitempty"`
		Double *float64   `json:"doubleValue,omitempty"`
		Bool   *bool      `json:"boolValue,omitempty"`
		Array  *otlpArray `json:"arrayValue,omitempty"`
	}
	otlpArray struct {
		Values []otlpValue `json:"values"`
	}
	attributes []attribute
)

// Span kinds and status codes, from trace.proto.
const (
	kindInternal = 1
	kindClient   = 3
	statusError  = 2
)

// str adds text, unless there is none.
func (a *attributes) str(key, v string) {
	if v != "" {
		*a = append(*a, attribute{key, otlpValue{String: &v}})
	}
}

// num adds a number that is more than none.
func (a *attributes) num(key string, v int64) {
	if v > 0 {
		*a = append(*a, attribute{key, otlpValue{Int: strconv.FormatInt(v, 10)}})
	}
}

// code adds a number, whatever it is.
func (a *attributes) code(key string, v int64) {
	*a = append(*a, attribute{key, otlpValue{Int: strconv.FormatInt(v, 10)}})
}

// seconds adds a time that has passed.
func (a *attributes) seconds(key string, d time.Duration) {
	if d > 0 {
		s := d.Seconds()
		*a = append(*a, attribute{key, otlpValue{Double: &s}})
	}
}

func (a *attributes) is(key string, v bool) {
	if v {
		*a = append(*a, attribute{key, otlpValue{Bool: &v}})
	}
}

func (a *attributes) list(key string, v ...string) {
	var values []otlpValue
	for i := range v {
		values = append(values, otlpValue{String: &v[i]})
	}
	*a = append(*a, attribute{key, otlpValue{Array: &otlpArray{values}}})
}

// batch is spans of one resource that are written or sent together.
type batch struct {
	resource otlpResource
	scope    otlpScope
	spans    bytes.Buffer
	n        int
}

const (
	// batchSpans and batchBytes are when a batch goes. Servers take at least 4 MiB,
	// and 20 MiB is what OTLP recommends; a single span with content stays far
	// below.
	batchSpans = 512
	batchBytes = 2 << 20
)

func (b *batch) add(s *otlpSpan) error {
	if b.n > 0 {
		b.spans.WriteByte(',')
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	b.spans.Write(text)
	b.n++
	return nil
}

func (b *batch) full() bool { return b.n >= batchSpans || b.spans.Len() >= batchBytes }

// take is the batch as the JSON of an ExportTraceServiceRequest, which is that of
// TracesData, too, and leaves the batch empty.
func (b *batch) take() ([]byte, error) {
	resource, err := json.Marshal(b.resource)
	if err != nil {
		return nil, err
	}
	scope, err := json.Marshal(b.scope)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Grow(b.spans.Len() + len(resource) + len(scope) + 100)
	out.WriteString(`{"resourceSpans":[{"resource":`)
	out.Write(resource)
	out.WriteString(`,"scopeSpans":[{"scope":`)
	out.Write(scope)
	out.WriteString(`,"spans":[`)
	out.Write(b.spans.Bytes())
	out.WriteString("]}]}]}")
	b.spans.Reset()
	b.n = 0
	return out.Bytes(), nil
}

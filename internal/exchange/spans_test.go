package exchange

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func spansTo(out *bytes.Buffer, content bool) *Spans {
	return &Spans{Service: "acp-shim", Version: "test", Content: content, Resource: map[string]string{"host.name": "build7"},
		Send: func(batch []byte, _ int) error {
			out.Write(append(batch, '\n'))
			return nil
		}}
}

// sent is what a batch is read back as.
type sent struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes []attribute }
		ScopeSpans []struct{ Spans []otlpSpan }
	}
}

func spansOf(t *testing.T, lines []byte) (list []otlpSpan) {
	t.Helper()
	for line := range bytes.Lines(lines) {
		var s sent
		d := json.NewDecoder(bytes.NewReader(line))
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		for _, r := range s.ResourceSpans {
			for _, sc := range r.ScopeSpans {
				list = append(list, sc.Spans...)
			}
		}
	}
	return list
}

// TestSpansHangTogether: ids have their form and are no two spans', children are in
// their parent's trace and time, and what is exported twice is the same.
func TestSpansHangTogether(t *testing.T) {
	for name, capture := range demos(t) {
		var out, again bytes.Buffer
		export(t, capture, spansTo(&out, true))
		export(t, capture, spansTo(&again, true))
		if !bytes.Equal(out.Bytes(), again.Bytes()) {
			t.Errorf("%s: another time they are others", name)
		}
		spans := map[string]otlpSpan{}
		list := spansOf(t, out.Bytes())
		for _, s := range list {
			if len(s.TraceID) != 32 || len(s.SpanID) != 16 || strings.Trim(s.TraceID+s.SpanID, "0123456789abcdef") != "" {
				t.Errorf("%s: ids %s %s", name, s.TraceID, s.SpanID)
			}
			if _, twice := spans[s.SpanID]; twice {
				t.Errorf("%s: two spans are %s", name, s.SpanID)
			}
			if len(s.Start) != len(s.End) || s.Start > s.End {
				t.Errorf("%s: %s from %s to %s", name, s.Name, s.Start, s.End)
			}
			spans[s.SpanID] = s
		}
		children := 0
		for _, s := range list {
			if s.Parent == "" {
				continue
			}
			children++
			p, ok := spans[s.Parent]
			if !ok || p.TraceID != s.TraceID || !strings.HasPrefix(p.Name, "invoke_agent") || s.Start < p.Start || s.End > p.End {
				t.Errorf("%s: %s has the parent %s", name, s.Name, p.Name)
			}
		}
		if len(list) < 8 || children == 0 {
			t.Errorf("%s: %d spans, %d children", name, len(list), children)
		}
	}
}

// TestContentIsAskedFor: without it nothing that was said is in the spans.
func TestContentIsAskedFor(t *testing.T) {
	private := []string{"List the files", "The key is", "Run ", "no such", "the agent is gone", "Invalid params", "package a", "/w/a.go", "again", "Nearly"}
	for _, content := range []bool{false, true} {
		var out bytes.Buffer
		export(t, testdata(t, "run.jsonl"), spansTo(&out, content))
		found := 0
		for _, p := range private {
			if strings.Contains(out.String(), p) {
				found++
			}
		}
		if content == (found == 0) {
			t.Errorf("content %v: %d of %d are in it", content, found, len(private))
		}
	}
}

// TestAppendedRuns: two runs in a file are two resources, with other ids.
func TestAppendedRuns(t *testing.T) {
	run := testdata(t, "run.jsonl")
	second := bytes.Replace(run, []byte("81e263a52bd8bcdd"), []byte("0000000000000001"), 1)
	var out bytes.Buffer
	export(t, append(bytes.Clone(run), second...), spansTo(&out, false))
	if n := bytes.Count(out.Bytes(), []byte("\n")); n != 2 {
		t.Errorf("%d batches", n)
	}
	ids := map[string]bool{}
	for _, s := range spansOf(t, out.Bytes()) {
		if ids[s.SpanID] {
			t.Errorf("%s is there twice", s.SpanID)
		}
		ids[s.SpanID] = true
	}
}

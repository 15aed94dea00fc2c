package replay

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/wire"
	"acp-shim/record"
)

// FuzzMatch records any request and its answer. The same request in other words, with
// its members in another order, other spaces, other escapes and another id, gets that
// answer to its last byte; one that asks for something else is told why it gets none.
func FuzzMatch(f *testing.F) {
	answers := []string{`{"a":1.0e2,"b":"\u00e9\/"}`, `null`, `{"stopReason":"end_turn"}`, ` [ ] `}
	for i, line := range seeds.Frames() {
		m := &wire.Message{}
		m.Parse(line)
		f.Add(m.Method, m.Text(m.Params), []byte(answers[i%len(answers)]), `"id"`)
	}
	f.Fuzz(func(t *testing.T, method string, params, result []byte, id string) {
		name, err := json.Marshal(method)
		if err != nil || method == "" || !json.Valid(params) || !wire.Valid(result) || !scalar(id) || bytes.ContainsAny(slices.Concat(params, result, []byte(id)), "\r\n") {
			return
		}
		// What a capture leaves out stands for anything, paths and sessions for others.
		for _, special := range []string{record.Marker, record.URLMarker, "[blob", "cwd", "Directories", "sessionId", "/", `\`} {
			if bytes.Contains(params, []byte(special)) || bytes.Contains(result, []byte(special)) {
				return
			}
		}
		switch method {
		case "session/cancel", cancelRequest, "session/close", "session/delete":
			return // they are answered without a recording, too
		}
		var value any
		d := json.NewDecoder(bytes.NewReader(params))
		d.UseNumber()
		if d.Decode(&value) != nil || duplicates(params) {
			return
		}
		request := `{"jsonrpc":"2.0","id":` + id + `,"method":` + string(name) + `,"params":` + string(params) + `}`
		answer := `{"id": ` + id + ` , "result":` + string(result) + `}`
		b := capture("> "+request, "< "+answer)
		other, err := json.MarshalIndent(value, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		asked := `{ "params":` + strings.ReplaceAll(string(other), "\n", " ") + `,"id":` + id + `,"method":` + string(name) + `}`
		if got := answerOf(t, b, asked); got != answer+"\n" {
			t.Fatalf("%s\nwas recorded, and %s\ngot %s", request, asked, got)
		}
		again := answerOf(t, b, `{"id":[1],"method":`+string(name)+`,"params":["another",`+string(params)+`]}`)
		if _, list := value.([]any); list {
			return // it may be that one
		}
		var refused struct {
			Error struct{ Message string }
		}
		if json.Unmarshal([]byte(again), &refused) != nil || !strings.HasPrefix(refused.Error.Message, "acp-shim replay: ") {
			t.Fatalf("of %s: something else got %s", request, again)
		}
	})
}

// scalar tells an id that a client could have.
func scalar(id string) bool {
	return wire.Valid([]byte(id)) && id != "null" && strings.TrimSpace(id) == id && id[0] != '{' && id[0] != '['
}

// duplicates tells that a key is given twice somewhere: peers disagree on which counts.
func duplicates(text []byte) bool {
	var compact bytes.Buffer
	if json.Compact(&compact, text) != nil {
		return true
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return true
	}
	b, err := json.Marshal(v)
	// A second member is not in what is written again.
	return err != nil || bytes.Count(b, []byte(`":`)) != bytes.Count(compact.Bytes(), []byte(`":`))
}

// answerOf is what a client gets that sends one line to the recording.
func answerOf(t *testing.T, capture []byte, line string) string {
	s, err := Parse(bytes.NewReader(capture), Options{Missed: func(Miss) {}})
	if err != nil {
		t.Fatalf("%v in %s", err, capture)
	}
	defer s.Close()
	p := s.Agent()
	if _, err := io.WriteString(p, line+"\n"); err != nil {
		t.Fatal(err)
	}
	p.CloseWrite()
	b, err := io.ReadAll(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

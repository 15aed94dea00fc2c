package usage

import "testing"

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name, frame string
		want        Tokens
	}{
		{"no sum: side by side, as ACP has it", `{"usage":{"inputTokens":1,"output_tokens":2,"thoughtTokens":3,"cachedReadTokens":4}}`, Tokens{Input: 5, Output: 5, Thought: 3, Cached: 4, Total: 10}},
		{"a sum of all", `{"usage":{"inputTokens":10,"outputTokens":20,"thoughtTokens":3,"cachedReadTokens":400,"cachedWriteTokens":7,"totalTokens":440}}`, Tokens{Input: 417, Output: 23, Thought: 3, Cached: 400, CacheWrite: 7, Total: 440}},
		{"a sum with the cache in the input, as OpenAI's", `{"usage":{"inputTokens":500,"outputTokens":20,"thoughtTokens":3,"cachedReadTokens":400,"totalTokens":520}}`, Tokens{Input: 500, Output: 20, Thought: 3, Cached: 400, Total: 520}},
		{"a sum with thoughts beside the output, as Gemini's", `{"usage":{"promptTokenCount":500,"candidatesTokenCount":20,"thoughtsTokenCount":3,"cachedContentTokenCount":400,"totalTokenCount":523}}`, Tokens{Input: 500, Output: 23, Thought: 3, Cached: 400, Total: 523}},
		{"a sum without the thoughts but with the cache", `{"usage":{"inputTokens":10,"outputTokens":20,"thoughtTokens":3,"cachedReadTokens":400,"totalTokens":430}}`, Tokens{Input: 410, Output: 20, Thought: 3, Cached: 400, Total: 430}},
		{"Anthropic's names", `{"usage":{"input_tokens":10,"output_tokens":20,"cache_read_input_tokens":400,"cache_creation_input_tokens":5}}`, Tokens{Input: 415, Output: 20, Cached: 400, CacheWrite: 5, Total: 435}},
		{"a part that is more than the whole", `{"_meta":{"quota":{"token_count":{"input_tokens":10,"cached_input_tokens":400,"output_tokens":1}}}}`, Tokens{Input: 410, Output: 1, Cached: 400, Total: 411}},
		{"gemini's and codex' quota", `{"_meta":{"quota":{"token_count":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2,"reasoning_output_tokens":1}}}}`, Tokens{Input: 10, Output: 2, Thought: 1, Cached: 4, Total: 12}},
		{"nothing but a sum", `{"usage":{"totalTokens":77}}`, Tokens{Total: 77}},
		{"no counts", `{"usage":{"inputTokens":-1,"outputTokens":"7","total_tokens":1e300}}`, Tokens{}},
		{"no object", `{"usage":7}`, Tokens{}},
		{"nothing", `{"stopReason":"end_turn"}`, Tokens{}},
	} {
		r, found := Read([]byte(`{"id":1,"result":` + row.frame + `}`))
		if r.Tokens != row.want || found != (row.want != Tokens{}) || r.HasTokens != found {
			t.Errorf("%s: %+v, %v; want %+v", row.name, r.Tokens, found, row.want)
		}
	}
}

func TestReadAnUpdate(t *testing.T) {
	r, found := Read([]byte(`{"params":{"update":{"sessionUpdate":"usage_update","used":5,"size":100,"cost":{"amount":0.25,"currency":"USD"}}}}`))
	if !found || r.Used != 5 || r.Size != 100 || r.Cost != 0.25 || r.Currency != "USD" || r.HasTokens {
		t.Errorf("%+v", r)
	}
	if r, found := Read([]byte(`{"params":{"update":{"sessionUpdate":"plan","used":5,"usage":1}}}`)); found {
		t.Errorf("%+v", r)
	}
}

func TestReadModels(t *testing.T) {
	r, _ := Read([]byte(`{"result":{"_meta":{"quota":{"token_count":{"input_tokens":3,"output_tokens":1},"model_usage":[{"model":"a","token_count":{"input_tokens":2,"output_tokens":1}},{"model":"b","token_count":{"input_tokens":1}},{"model":"","token_count":{"input_tokens":9}}]}}}}`))
	want := []ModelTokens{{"a", Tokens{Input: 2, Output: 1, Total: 3}}, {"b", Tokens{Input: 1, Total: 1}}}
	if len(r.Models) != 2 || r.Models[0] != want[0] || r.Models[1] != want[1] || !r.OfTurn || r.Model() != "a" {
		t.Errorf("%+v", r)
	}
}

// TestSession adds up what processes report, each report with the tokens of the
// turn that it stands for.
func TestSession(t *testing.T) {
	type report struct {
		process, total, turn int64
		ofTurn               bool
	}
	for _, row := range []struct {
		name    string
		reports []report
		want    int64
	}{
		{"so far", []report{{1, 10, 10, false}, {1, 30, 20, false}, {1, 31, 1, false}}, 31},
		{"each turn's, which shows", []report{{1, 10, 10, false}, {1, 30, 20, false}, {1, 5, 5, false}, {1, 100, 100, false}}, 145},
		{"each turn's, which is known", []report{{1, 10, 10, true}, {1, 30, 30, true}}, 40},
		{"a process that counts anew", []report{{1, 10, 10, false}, {1, 30, 20, false}, {2, 5, 5, false}, {2, 9, 4, false}}, 39},
		{"a process that knows the one before", []report{{1, 30, 30, false}, {2, 35, 5, false}, {2, 50, 15, false}}, 50},
		{"each turn's, and another process", []report{{1, 30, 30, true}, {2, 35, 35, true}}, 65},
	} {
		s := &Session{}
		for i, r := range row.reports {
			turn := s.Add(Report{Tokens: Tokens{Input: r.total, Total: r.total}, HasTokens: true, OfTurn: r.ofTurn}, int(r.process))
			if turn.Total != r.turn {
				t.Errorf("%s: report %d counts %d for its turn, want %d", row.name, i, turn.Total, r.turn)
			}
		}
		if s.Tokens.Total != row.want || s.Input != row.want {
			t.Errorf("%s: %+v, want %d", row.name, s.Totals, row.want)
		}
	}
}

func TestStandard(t *testing.T) {
	for _, frame := range []string{
		`{"usage":{"inputTokens":10,"outputTokens":20,"cachedReadTokens":400,"cachedWriteTokens":7,"thoughtTokens":3,"totalTokens":440}}`,
		`{"usage":{"inputTokens":10,"outputTokens":20,"totalTokens":30}}`,
	} {
		r, _ := Read([]byte(`{"result":` + frame + `}`))
		s := &Session{}
		s.Add(r, 1)
		if got := `{"usage":` + s.Standard() + `}`; got != frame {
			t.Errorf("%s became %s", frame, got)
		}
	}
}

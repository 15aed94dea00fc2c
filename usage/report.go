package usage

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// Report is what one frame says of what was used, in one form.
type Report struct {
	// Tokens are those of the turn, or of the session so far: HasTokens tells
	// whether there are any, OfTurn that they are for certain only the turn's.
	Tokens    Tokens
	HasTokens bool
	OfTurn    bool
	// Models are the models that they fall to, where the frame says so.
	Models []ModelTokens
	// Used and Size are the context window, Cost what the session has cost so
	// far, in Currency.
	Used, Size       int64
	HasUsed, HasSize bool
	Cost             float64
	Currency         string
	// Standard tells that the figures stand where ACP has them.
	Standard bool
}

// ModelTokens are the tokens of one model.
type ModelTokens struct {
	Model  string
	Tokens Tokens
}

// Model is the model that most of the tokens fall to, "" where the frame does not say.
func (r *Report) Model() string {
	var most ModelTokens
	for _, m := range r.Models {
		if most.Model == "" || m.Tokens.Total > most.Tokens.Total {
			most = m
		}
	}
	return most.Model
}

// Read takes what a frame says, and reports whether it says anything. It looks
// where the protocol has it, in a usage_update and in the usage of a prompt's
// result, and where gemini and codex put it, in that result's _meta.quota: in a
// capture nothing shall be taken for a figure that is none.
func Read(frame []byte) (r Report, found bool) {
	if !bytes.Contains(frame, []byte("usage")) && !bytes.Contains(frame, []byte("quota")) {
		return r, false
	}
	if u := gjson.GetBytes(frame, "params.update"); u.Get("sessionUpdate").Str == "usage_update" {
		return readUpdate(u)
	}
	result := gjson.GetBytes(frame, "result")
	if t, ok := readTokens(result.Get("usage"), true); ok {
		return Report{Tokens: t, HasTokens: true, Standard: true}, true
	}
	quota := result.Get("_meta.quota")
	if r.Tokens, found = readTokens(quota.Get("token_count"), false); found {
		r.HasTokens, r.OfTurn = true, true
		quota.Get("model_usage").ForEach(func(_, m gjson.Result) bool {
			if t, ok := readTokens(m.Get("token_count"), false); ok && m.Get("model").Str != "" {
				r.Models = append(r.Models, ModelTokens{m.Get("model").Str, t})
			}
			return true
		})
	}
	return r, found
}

func readUpdate(u gjson.Result) (r Report, found bool) {
	r.Standard = true
	if v := u.Get("used"); figure(v) {
		r.Used, r.HasUsed, found = int64(v.Num), true, true
	}
	if v := u.Get("size"); figure(v) {
		r.Size, r.HasSize, found = int64(v.Num), true, true
	}
	if c := u.Get("cost.amount"); figure(c) {
		r.Cost, r.Currency, found = c.Num, u.Get("cost.currency").Str, true
	}
	return r, found
}

func readTokens(u gjson.Result, beside bool) (Tokens, bool) {
	var figures raw
	found := false
	if u.IsObject() {
		u.ForEach(func(name, v gjson.Result) bool {
			if figure(v) && figures.put(name.Str, int64(v.Num)) {
				found = true
			}
			return true
		})
	}
	return figures.unify(beside), found
}

// reportOf makes a report of figures that were found by their names in a place that
// nobody has described.
func reportOf(list []Number, ofTurn bool) (r Report) {
	var figures raw
	for _, n := range list {
		name := n.Path[strings.LastIndexByte(n.Path, '.')+1:]
		if figures.put(name, int64(n.Value)) {
			r.HasTokens = true
		}
	}
	r.Tokens, r.OfTurn = figures.unify(false), ofTurn
	return r
}

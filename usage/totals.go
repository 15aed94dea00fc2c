package usage

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// Totals are what a session has used, in tokens.
type Totals struct {
	Input   int64 `json:"input,omitempty"`
	Output  int64 `json:"output,omitempty"`
	Thought int64 `json:"thought,omitempty"`
	Cached  int64 `json:"cached,omitempty"`
	Total   int64 `json:"total,omitempty"`
	// Used and Size are the context window, as it was told last.
	Used int64 `json:"used,omitempty"`
	Size int64 `json:"size,omitempty"`
	// Turns is how many prompts were answered.
	Turns int64 `json:"turns,omitempty"`
}

// field is the figure of t that agents give one of these names.
func (t *Totals) field(name string) *int64 {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	switch name {
	case "inputtokens", "prompttokens", "prompttokencount":
		return &t.Input
	case "outputtokens", "completiontokens", "candidatestokencount":
		return &t.Output
	case "thoughttokens", "reasoningtokens", "thoughtstokencount", "reasoningoutputtokens":
		return &t.Thought
	case "cachedreadtokens", "cachedtokens", "cachedinputtokens", "cachedcontenttokencount":
		return &t.Cached
	case "totaltokens", "totaltokencount":
		return &t.Total
	}
	return nil
}

// take puts figures in: those of a session so far replace, those of one turn add
// up.
func (t *Totals) take(list []Number, soFar bool) {
	for _, n := range list {
		name := n.Path[strings.LastIndexByte(n.Path, '.')+1:]
		f := t.field(name)
		switch {
		case f == nil:
		case soFar:
			*f = int64(n.Value)
		default:
			*f += int64(n.Value)
		}
	}
}

// Read takes what a frame says of a turn's tokens, and reports whether it says
// anything. It looks where the protocol has them, in a usage_update and in the usage
// of a prompt's result, and where gemini and codex put them, in that result's
// _meta.quota: in a capture nothing shall be taken for a figure that is none.
func (t *Totals) Read(frame []byte) bool {
	if !bytes.Contains(frame, []byte("usage")) && !bytes.Contains(frame, []byte("quota")) {
		return false
	}
	found := false
	take := func(v gjson.Result, to *int64) {
		if to != nil && figure(v) {
			*to, found = int64(v.Num), true
		}
	}
	if u := gjson.GetBytes(frame, "params.update"); u.Get("sessionUpdate").Str == "usage_update" {
		take(u.Get("used"), &t.Used)
		take(u.Get("size"), &t.Size)
		return found
	}
	for _, at := range []string{"result.usage", "result._meta.quota.token_count"} {
		u := gjson.GetBytes(frame, at)
		if !u.IsObject() {
			continue
		}
		u.ForEach(func(name, v gjson.Result) bool {
			take(v, t.field(name.Str))
			return true
		})
	}
	return found
}

package usage

import "strings"

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

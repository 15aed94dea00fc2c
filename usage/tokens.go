package usage

import (
	"math"
	"strings"
)

// Tokens are figures in one form, whoever reported them: Input is all that went to
// the model, what came out of a cache and what was put there included; Output is
// all that came from it, its thoughts included.
//
// The sources differ. Anthropic's input counts without what was cached, Gemini's
// and OpenAI's with it; OpenAI's output counts thoughts, Gemini's does not. ACP
// has all of them side by side, and says of the total that it is the sum of all
// (types_gen.go of acp-go-sdk, Usage). Agents pass their provider's figures on,
// so that it is the total that tells what is within what.
type Tokens struct {
	Input  int64 `json:"input,omitempty"`
	Output int64 `json:"output,omitempty"`
	// Thought is the part of Output that is thoughts.
	Thought int64 `json:"thought,omitempty"`
	// Cached is the part of Input that came out of a cache, CacheWrite the part
	// that was put there.
	Cached     int64 `json:"cached,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	// Total is Input and Output, or what was reported where there is only that.
	Total int64 `json:"total,omitempty"`
}

// Plus is the sum of both. What would be more than a number can hold is the most that
// it can.
func (t Tokens) Plus(u Tokens) Tokens {
	return Tokens{plus(t.Input, u.Input), plus(t.Output, u.Output), plus(t.Thought, u.Thought), plus(t.Cached, u.Cached), plus(t.CacheWrite, u.CacheWrite), plus(t.Total, u.Total)}
}

func plus(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

func (t Tokens) minus(u Tokens) Tokens {
	return t.Plus(Tokens{-u.Input, -u.Output, -u.Thought, -u.Cached, -u.CacheWrite, -u.Total})
}

// below tells that one of t's figures is less than u's.
func (t Tokens) below(u Tokens) bool {
	return t.Input < u.Input || t.Output < u.Output || t.Thought < u.Thought || t.Cached < u.Cached || t.CacheWrite < u.CacheWrite || t.Total < u.Total
}

// raw are figures as an agent has them.
type raw struct {
	Tokens
	total bool // there is one
	apart bool // the names say that the cache's figures are no part of the input
}

// put takes a figure by its name, and tells whether it is one.
func (r *raw) put(name string, v int64) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "inputtokens", "prompttokens", "prompttokencount":
		r.Input = v
	case "outputtokens", "completiontokens", "candidatestokencount":
		r.Output = v
	case "thoughttokens", "reasoningtokens", "thoughtstokencount", "reasoningoutputtokens":
		r.Thought = v
	case "cachedreadtokens", "cachedtokens", "cachedinputtokens", "cachedcontenttokencount":
		r.Cached = v
	case "cachedwritetokens":
		r.CacheWrite = v
	case "cachereadinputtokens": // Anthropic's, beside its input
		r.Cached, r.apart = v, true
	case "cachecreationinputtokens":
		r.CacheWrite, r.apart = v, true
	case "totaltokens", "totaltokencount":
		r.Total, r.total = v, true
	default:
		return false
	}
	return true
}

// unify brings figures into the one form. beside is how to read them where they
// do not say it themselves.
func (r raw) unify(beside bool) Tokens {
	cache, thought := r.Cached+r.CacheWrite, r.Thought
	cacheApart, thoughtApart := beside || r.apart, beside
	if r.total && r.Input+r.Output > 0 {
		sum := func(cacheToo, thoughtToo bool) int64 {
			n := r.Input + r.Output
			if cacheToo {
				n += cache
			}
			if thoughtToo {
				n += thought
			}
			return n
		}
		for _, way := range [][2]bool{{cacheApart, thoughtApart}, {false, false}, {false, true}, {true, false}, {true, true}} {
			if sum(way[0], way[1]) == r.Total {
				cacheApart, thoughtApart = way[0], way[1]
				break
			}
		}
	}
	t := r.Tokens
	// A part is never more than the whole.
	if cacheApart || cache > t.Input {
		t.Input += cache
	}
	if thoughtApart || thought > t.Output {
		t.Output += thought
	}
	if !r.total || t.Input+t.Output > 0 {
		t.Total = max(t.Total, t.Input+t.Output)
	}
	return t
}

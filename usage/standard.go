package usage

import "strconv"

// Standard is the session's tokens as ACP has them in a prompt's result: of all
// turns, with the cached ones and the thoughts beside the input and the output, and
// a total that is the sum of all.
func (s *Session) Standard() string {
	t := s.Tokens
	in, out := t.Input-t.Cached-t.CacheWrite, t.Output-t.Thought
	b := []byte(`{"inputTokens":`)
	b = strconv.AppendInt(b, in, 10)
	b = append(b, `,"outputTokens":`...)
	b = strconv.AppendInt(b, out, 10)
	for _, f := range []struct {
		name string
		n    int64
	}{{"cachedReadTokens", t.Cached}, {"cachedWriteTokens", t.CacheWrite}, {"thoughtTokens", t.Thought}} {
		if f.n > 0 {
			b = append(b, `,"`+f.name+`":`...)
			b = strconv.AppendInt(b, f.n, 10)
		}
	}
	b = append(b, `,"totalTokens":`...)
	b = strconv.AppendInt(b, max(t.Input+t.Output, t.Total), 10)
	return string(append(b, '}'))
}

package show

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
)

// A Search finds text in records: in decoded strings, so that a letter that is
// written \u00e9 is found as é, in names, numbers, lines that are no JSON and
// what events say. Chunks of a stream are searched across their borders, since agents
// split their text anywhere.
type Search struct {
	Pattern *regexp.Regexp
	tails   map[stream]string
}

// Found is a place in a record.
type Found struct {
	// Path leads to the string in the frame, as gjson has it; "" for what is no
	// JSON.
	Path string `json:"path,omitempty"`
	// Before, Match and After are the text there, what is around it shortened.
	Before string `json:"before,omitempty"`
	Match  string `json:"match"`
	After  string `json:"after,omitempty"`
}

// In looks for the first place in a record, which must come in the capture's order.
func (s *Search) In(r *trace.Record) *Found {
	if r.Kind == trace.Header {
		clear(s.tails)
		return nil
	}
	f, key, text, joins := s.chunk(r)
	switch {
	case f != nil:
	case r.Kind == trace.Event:
		if f = s.text(string(r.Text), ""); f == nil {
			f = s.json(r.Data)
		}
	case r.JSON:
		f = s.json(r.Body)
	default:
		f = s.text(string(r.Body), "")
	}
	for _, e := range r.Edits {
		if f == nil {
			f = s.text(e.Old, "what the shim changed")
		}
	}
	if joins {
		s.keep(key, text, f)
	} else if r.Session != "" && r.Event == "" {
		for key := range s.tails {
			if key.session == r.Session {
				delete(s.tails, key) // what comes is another message
			}
		}
	}
	return f
}

// chunkText is where a chunk has its text.
const chunkText = "params.update.content.text"

// chunk looks for a match that begins in what was said before.
func (s *Search) chunk(r *trace.Record) (f *Found, key stream, text string, joins bool) {
	key, text, joins = streamOf(r)
	if joins = joins && r.Update != "" && text != ""; !joins {
		return nil, key, "", false
	}
	key.what = r.Update
	before := s.tails[key]
	if before == "" {
		return nil, key, text, true
	}
	all := before + Begin(text, tailSize)
	for _, m := range s.Pattern.FindAllStringIndex(all, -1) {
		if m[0] < len(before) && m[1] > len(before) {
			return around(all, m, chunkText), key, text, true
		}
	}
	return nil, key, text, true
}

const (
	// tailSize is how far before a chunk a match may begin, and how far into it
	// one that begins before it is looked for.
	tailSize = 400
	maxTails = 256
)

// keep remembers the end of what was said, but not what was found already.
func (s *Search) keep(key stream, text string, f *Found) {
	all := s.tails[key] + text
	if f != nil {
		all = ""
		if m := s.Pattern.FindAllStringIndex(text, -1); len(m) > 0 {
			all = text[m[len(m)-1][1]:]
		}
	}
	if len(all) > tailSize {
		all = all[len(all)-tailSize:]
		for len(all) > 0 && !utf8.RuneStart(all[0]) {
			all = all[1:]
		}
	}
	if s.tails == nil || len(s.tails) >= maxTails {
		s.tails = map[stream]string{}
	}
	s.tails[key] = all
}

func (s *Search) text(text, path string) *Found {
	if m := s.Pattern.FindStringIndex(text); m != nil {
		return around(text, m, path)
	}
	return nil
}

// json looks through the strings, names and other words of a JSON text.
func (s *Search) json(b []byte) *Found {
	for i := 0; i < len(b); {
		start := i
		switch c := b[i]; {
		case c == '"':
			end, escaped := stringEnd(b, i)
			raw := b[i:end]
			i = end
			if len(raw) < 2 {
				return nil
			}
			if !escaped {
				if m := s.Pattern.FindIndex(raw[1 : len(raw)-1]); m != nil {
					return around(string(raw[1:len(raw)-1]), m, pathTo(b, start))
				}
				continue
			}
			text := gjson.ParseBytes(raw).Str
			if m := s.Pattern.FindStringIndex(text); m != nil {
				return around(text, m, pathTo(b, start))
			}
		case c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z':
			for i < len(b) && strings.IndexByte(",]} \t\r\n", b[i]) < 0 {
				i++
			}
			if m := s.Pattern.FindIndex(b[start:i]); m != nil {
				return around(string(b[start:i]), m, pathTo(b, start))
			}
		default:
			i++
		}
	}
	return nil
}

// stringEnd is the offset behind the string that begins at i, and whether it has
// escapes.
func stringEnd(b []byte, i int) (end int, escaped bool) {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			return i + 1, escaped
		}
	}
	return len(b), escaped
}

// pathTo is the path to the value, or to the name, at an offset of a JSON text.
func pathTo(b []byte, at int) string {
	type level struct {
		name  string
		index int
		list  bool
	}
	var stack []level
	named := false // the next value has its name already
	for i := 0; i < len(b) && i <= at; {
		switch c := b[i]; c {
		case '{', '[':
			stack = append(stack, level{list: c == '['})
			named = false
			i++
		case '}', ']':
			if len(stack) > 0 {
				stack = stack[:len(stack)-1]
			}
			i++
		case ',':
			if len(stack) > 0 {
				stack[len(stack)-1].index++
			}
			named = false
			i++
		case ':':
			named = true
			i++
		case '"':
			end, _ := stringEnd(b, i)
			if len(stack) > 0 && !stack[len(stack)-1].list && !named {
				stack[len(stack)-1].name = gjson.ParseBytes(b[i:end]).Str
			}
			i = end
		default:
			i++
		}
	}
	var path []string
	for _, l := range stack {
		if l.list {
			path = append(path, strconv.Itoa(l.index))
		} else {
			path = append(path, gjson.Escape(l.name))
		}
	}
	return strings.Join(path, ".")
}

// around is a match with the text beside it.
func around(text string, m []int, path string) *Found {
	const context = 200
	before, after := text[:m[0]], text[m[1]:]
	if len(before) > context {
		cut := len(before) - context
		for cut < len(before) && !utf8.RuneStart(before[cut]) {
			cut++
		}
		before = "…" + before[cut:]
	}
	return &Found{Path: path, Before: before, Match: Begin(text[m[0]:m[1]], head), After: Begin(after, context)}
}

package record

import (
	"bytes"

	"acp-shim/internal/wire"
)

// Redact returns a frame without its secrets, and the frame itself where none
// was found. A frame that was valid JSON stays valid, of the same shape, and
// equal byte for byte but for what was replaced. Redacting twice is redacting
// once. What is no JSON is read as text; see [RedactText].
//
// Replaced are, at any depth: what headers and env hold, as lists of name and
// value and as maps; what goes by the name of a secret (token, api_key,
// Authorization, ...), but never a number; the _meta of authenticate; values
// behind a command's flags; and in every string what Bearer, Basic or such a
// name announces, what looks like a known kind of key or token, and user
// information and secret parameters of URLs. JSON in a string is read as
// JSON.
//
// No redactor sees a secret that neither its place nor a word nor its looks
// give away, nor one that is split between two frames.
func Redact(frame []byte) []byte {
	if !suspicious(frame) {
		return frame
	}
	return splice(frame, frameSpans(frame))
}

// RedactText does for a line of text, such as one of stderr, what [Redact] does
// for a frame. JSON in it is found.
func RedactText(text []byte) []byte {
	if !suspicious(text) {
		return text
	}
	return splice(text, settle(text, func(b []byte) []span { return textSpans(b, 0, nil) }))
}

// frameSpans are what is secret in a frame.
func frameSpans(frame []byte) []span {
	return settle(frame, func(b []byte) []span {
		w := walker{b: b}
		end, ok := w.walk(wire.Space(b, 0), inPlain)
		if ok && wire.Space(b, end) == len(b) {
			return w.spans
		}
		return textSpans(b, 0, nil)
	})
}

// redactEdited redacts a frame that the shim changed, together with its edits.
// The edits still give back what was received, without its secrets: both ends
// of every edit are redacted as whole frames, since what an edit takes out may
// only there be known for a secret, and the edit is told anew as what
// differs between them.
func redactEdited(frame []byte, edits []edit) ([]byte, []edit) {
	first, dirty := frame, suspicious(frame)
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if e.at < 0 || e.at+len(e.new) > len(first) {
			return Redact(frame), nil // they are not this frame's
		}
		first = replace(first, e.at, len(e.new), e.old)
		dirty = dirty || suspicious(first)
	}
	if !dirty {
		return frame, edits
	}
	told := make([]edit, 0, len(edits))
	before, was := first, frameSpans(first)
	clean := splice(before, was)
	for _, e := range edits {
		after := replace(before, e.at, len(e.old), e.new)
		is := frameSpans(after)
		next := splice(after, is)
		if t, differs := retell(e, clean, was, next, is); differs {
			told = append(told, t)
		}
		before, was, clean = after, is, next
	}
	return clean, told
}

// edit is a proxy.Edit that aliases the writer's queue.
type edit struct {
	at       int
	old, new []byte
}

func replace(b []byte, at, n int, by []byte) []byte {
	out := make([]byte, 0, len(b)-n+len(by))
	out = append(out, b[:at]...)
	out = append(out, by...)
	return append(out, b[at+n:]...)
}

// retell tells an edit of redacted frames. Where it touches no secret it is the
// same edit at another offset; otherwise it is the least that turns before
// into after.
func retell(e edit, before []byte, was []span, after []byte, is []span) (edit, bool) {
	from, ok1 := moved(was, e.at)
	to, ok2 := moved(was, e.at+len(e.old))
	at, ok3 := moved(is, e.at)
	end, ok4 := moved(is, e.at+len(e.new))
	if ok1 && ok2 && ok3 && ok4 && from == at &&
		bytes.Equal(before[:from], after[:at]) && bytes.Equal(before[to:], after[end:]) {
		return edit{at, before[from:to], after[at:end]}, true
	}
	at = 0
	for at < len(before) && at < len(after) && before[at] == after[at] {
		at++
	}
	to, end = len(before), len(after)
	for to > at && end > at && before[to-1] == after[end-1] {
		to, end = to-1, end-1
	}
	return edit{at, before[at:to], after[at:end]}, to > at || end > at
}

// moved says where an offset of a frame is after its spans were replaced. It
// reports false inside of one.
func moved(spans []span, at int) (int, bool) {
	by := 0
	for _, s := range spans {
		if at <= s.from {
			break
		}
		if at < s.to {
			return 0, false
		}
		by += len(s.text) - (s.to - s.from)
	}
	return at + by, true
}

package record

import "acp-shim/internal/wire"

// Redact returns a frame without its secrets, and the frame itself where none
// was found. A frame that was valid JSON stays valid, of the same shape, and
// equal byte for byte but for what was replaced. Redacting twice is redacting
// once. What is no JSON is read as text; see [RedactText].
//
// Replaced are, at any depth: what headers and env hold, as lists of name and
// value and as maps; what goes by the name of a secret (token, api_key,
// Authorization, ...), but of numbers only a password, by a number as long; the _meta of authenticate; values
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
	return splice(text, lineSpans(text, look{}))
}

// frameSpans are what is secret in a frame.
func frameSpans(frame []byte) []span { return frameSpansAs(frame, look{}) }

func frameSpansAs(frame []byte, as look) []span {
	return settle(frame, func(b []byte) []span {
		w := walker{b: b, as: as}
		end, ok := w.walk(wire.Space(b, 0), inPlain)
		if ok && wire.Space(b, end) == len(b) {
			return w.spans
		}
		return textSpans(b, as, nil)
	})
}

// lineSpans are what is secret in a line of text.
func lineSpans(text []byte, as look) []span {
	return settle(text, func(b []byte) []span { return textSpans(b, as, nil) })
}

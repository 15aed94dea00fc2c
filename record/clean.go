package record

import "bytes"

// cleaner makes of what crossed the shim what a capture shows: without blobs and
// without secrets, as it is asked to.
type cleaner struct {
	raw     bool
	maxBlob int     // 0 for no limit
	known   *hunter // secrets that are known
}

// spans are what is to be replaced in a frame.
func (c *cleaner) spans(b []byte) (spans []span) {
	rest := b
	find := func(f func(b []byte) []span) {
		if more := f(rest); len(more) > 0 {
			spans = compose(spans, more)
			rest = splice(b, spans)
		}
	}
	if c.maxBlob > 0 {
		find(func(b []byte) []span { return blobSpans(b, c.maxBlob) })
	}
	if c.raw {
		return spans
	}
	find(c.known.frame)
	if suspicious(rest) {
		find(frameSpans)
	}
	return spans
}

// dirty reports whether something may have to be replaced in b.
func (c *cleaner) dirty(b []byte) bool {
	return c.maxBlob > 0 && len(b) > c.maxBlob || !c.raw && (suspicious(b) || c.known.may(b))
}

// frame cleans a frame and its edits.
func (c *cleaner) frame(b []byte, edits []edit) ([]byte, []edit) {
	if len(edits) > 0 {
		return c.edited(b, edits)
	}
	return c.json(b), nil
}

// json cleans JSON that nobody has changed.
func (c *cleaner) json(b []byte) []byte {
	if !c.dirty(b) {
		return b
	}
	return splice(b, c.spans(b))
}

// text cleans a line of text.
func (c *cleaner) text(b []byte) []byte {
	if c.maxBlob > 0 && len(b) > c.maxBlob {
		b = splice(b, blobRuns(b, c.maxBlob))
	}
	if c.raw {
		return b
	}
	return RedactText(splice(b, c.known.text(b)))
}

// id cleans the id that an event tells of.
func (c *cleaner) id(b []byte) []byte {
	if c.raw {
		return b
	}
	return RedactText(splice(b, c.known.id(b)))
}

// edited cleans a frame that the shim changed, together with its edits. The edits
// still give back what was received, cleaned: both ends of every edit are cleaned
// as whole frames, since what an edit takes out may only there be known for a
// secret, and the edit is told anew as what differs between them.
func (c *cleaner) edited(frame []byte, edits []edit) ([]byte, []edit) {
	first, dirty := frame, c.dirty(frame)
	for i := len(edits) - 1; i >= 0; i-- {
		e := edits[i]
		if e.at < 0 || e.at+len(e.new) > len(first) || !bytes.Equal(first[e.at:e.at+len(e.new)], e.new) {
			return c.json(frame), nil // they are not this frame's
		}
		first = replace(first, e.at, len(e.new), e.old)
		dirty = dirty || c.dirty(first)
	}
	if !dirty {
		return frame, edits
	}
	told := make([]edit, 0, len(edits))
	before, was := first, c.spans(first)
	clean := splice(before, was)
	for _, e := range edits {
		after := replace(before, e.at, len(e.old), e.new)
		is := c.spans(after)
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

// retell tells an edit of cleaned frames. Where it touches nothing that was
// replaced it is the same edit at another offset; otherwise it is the least that
// turns before into after.
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

package probe

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"acp-shim/internal/client"
	"acp-shim/internal/wire"
)

func frameGates() []*gate {
	return []*gate{
		{id: "ids", title: "ids: numbers and strings",
			criterion: "an answer has the id of its request, of the same type and value", source: rpc + " section 5", run: ids},
		{id: "lines", title: "lines of 100 KiB, 1 MiB, 20 MiB",
			criterion: "a line is read whatever its length", source: acp + "transports (no limit is named)", run: longLines},
		{id: "malformed", title: "blank and malformed lines",
			criterion: "what is no message is passed over, or answered with -32700 or -32600, and what follows is read", source: rpc + " section 5.1", run: malformed},
	}
}

// noMethod is a request that costs nothing: nobody knows the method.
const noMethod = "acp-probe/none"

func ids(t *trial) {
	p := t.borrow()
	var lost, spoiled []string
	must := 0
	for _, c := range []struct {
		id, name string
		must     bool
	}{
		{`"probe-1"`, "string", true},
		{`"7"`, "string of digits", true},
		{`"\u00fc \"quoted\""`, "string with escapes", false},
		{`123456`, "number", true},
		{`-1`, "negative", false},
		{`9007199254740993`, "above 2^53", false},
		{`1.0`, "1.0", false},
	} {
		how := t.idKept(p, c.id)
		t.fact(c.name, "%s", how)
		if how == "kept" {
			continue
		}
		if c.must {
			must++
		}
		if how == "no answer" {
			lost = append(lost, c.name)
		} else {
			spoiled = append(spoiled, c.name+" → "+how)
		}
	}
	text := strings.Join(spoiled, ", ")
	if len(lost) > 0 {
		text = strings.TrimPrefix(text+"; no answer to: "+strings.Join(lost, ", "), "; ")
	}
	switch {
	case must > 0:
		t.fail("%s", text)
	case text != "":
		t.fallback("%s: use small numbers and plain strings", text)
	}
	t.pass("strings and numbers come back as they were sent, also large, negative and 1.0")
}

// idKept sends a request with an id and says what becomes of it: kept, no answer,
// or what came instead.
func (t *trial) idKept(p *peer, id string) string {
	from := len(p.conn.Lines(0))
	call := p.conn.RequestID(id, noMethod, "{}")
	t.prove(p, call.Index)
	// Behind it one whose answer is certain: what is not there by then, comes to
	// nobody.
	fence := p.conn.Request(noMethod, "{}")
	a := t.await(p, fence, t.opt.Timeout)
	select {
	case <-call.Done():
		return "kept"
	default:
	}
	for _, l := range p.conn.Lines(from) {
		var m wire.Message
		m.Parse(l.Bytes)
		got := string(m.Text(m.ID))
		if l.Sent || l.Index == a.Index || m.Method != "" || got == fence.ID {
			continue
		}
		if string(l.Bytes[:1]) == "{" && m.Kind == wire.Response {
			t.prove(p, l.Index)
			if sameText(got, id) {
				return "kept"
			}
			return clip(got, 40)
		}
	}
	return "no answer"
}

// sameText tells whether two JSON strings are one, however they are escaped.
func sameText(a, b string) bool {
	return len(a) > 0 && len(b) > 0 && a[0] == '"' && b[0] == '"' && unquote(a) == unquote(b)
}

func longLines(t *trial) {
	sizes := []struct {
		n    int
		name string
	}{{100 << 10, "100 KiB"}, {1 << 20, "1 MiB"}, {20 << 20, "20 MiB"}}
	p := t.fresh(offers{})
	for i, s := range sizes {
		id := fmt.Sprint((p.gen-1)*idsEach + 900 + i)
		head := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + noMethod + `","params":{"padding":"`
		const tail = "\"}}\n"
		// Base64, of which a capture keeps the length only.
		line := make([]byte, 0, s.n)
		line = append(line, head...)
		line = append(line, bytes.Repeat([]byte("QUJD"), (s.n-len(head)-len(tail))/4)...)
		line = append(line, tail...)
		call := p.conn.RequestLine(id, noMethod, line)
		ctx, cancel := t.within(t.opt.Timeout)
		a, err := call.Wait(ctx)
		cancel()
		t.prove(p, call.Index)
		if err != nil {
			if t.ctx.Err() != nil {
				t.failed(t.ctx.Err())
			}
			t.fact(s.name, "lost")
			why := "no answer"
			var gone *client.GoneError
			if errors.As(err, &gone) {
				why = err.Error()
				t.fact(s.name, "the agent ended")
			}
			if i == len(sizes)-1 {
				t.fallback("a line of %s is too long: %s; lines up to %s are read", s.name, why, sizes[i-1].name)
			}
			t.fail("a line of %s is too long: %s", s.name, why)
		}
		t.prove(p, a.Index)
		t.fact(s.name, "read")
		t.took(s.name, a.Took())
	}
	t.pass("all are read; %d MiB in %s", sizes[2].n>>20, coarse(time.Duration(t.res.Figures[2].Value)*time.Millisecond))
}

func malformed(t *trial) {
	p := t.fresh(offers{})
	// Of what a client must not write nothing depends; blank lines and CRLF come
	// from clients that are in use.
	var bad, worse []string
	for _, c := range []struct {
		name, line string
		broken     bool   // no message at all
		id         string // of a request that has to be read
	}{
		{name: "blank", line: "\n", broken: true},
		{name: "spaces", line: "   \t \n", broken: true},
		{name: "text", line: "this is no JSON\n", broken: true},
		{name: "cut short", line: `{"jsonrpc":"2.0","id":801,"method":"acp-pro` + "\n", broken: true},
		{name: "no method", line: `{"jsonrpc":"2.0","id":802}` + "\n"},
		{name: "invalid UTF-8", line: "{\"jsonrpc\":\"2.0\",\"id\":803,\"method\":\"acp-probe/\xff\xfe\"}\n"},
		{name: "batch", line: `[{"jsonrpc":"2.0","id":804,"method":"acp-probe/none"},{"jsonrpc":"2.0","id":805,"method":"acp-probe/none"}]` + "\n"},
		{name: "CRLF", line: `{"jsonrpc":"2.0","id":806,"method":"acp-probe/none"}` + "\r\n", id: "806"},
	} {
		from := len(p.conn.Lines(0))
		err := p.conn.Write([]byte(c.line))
		t.prove(p, from)
		var a client.Answer
		if err == nil {
			fence := p.conn.Request(noMethod, "{}")
			ctx, cancel := t.within(min(t.opt.Timeout, 15*time.Second))
			a, err = fence.Wait(ctx)
			cancel()
		}
		if err != nil {
			if t.ctx.Err() != nil {
				t.failed(t.ctx.Err())
			}
			how := "nothing is answered after it"
			var gone *client.GoneError
			if errors.As(err, &gone) {
				how = "the agent ends"
			}
			t.fact(c.name, "%s", how)
			if bad = append(bad, c.name+": "+how); c.name == "blank" || c.name == "spaces" || c.name == "CRLF" {
				worse = append(worse, c.name)
			}
			p.kill()
			p = t.fresh(offers{})
			continue
		}
		how := "passed over"
		for _, l := range p.conn.Lines(from) {
			var m wire.Message
			m.Parse(l.Bytes)
			switch {
			case l.Sent || l.Index == a.Index:
			case m.Kind == wire.Batch:
				how = "answered by a batch"
			case m.Kind != wire.Response:
			case c.id != "" && string(m.Text(m.ID)) == c.id:
				how = "read"
			case m.Error.Found():
				how = fmt.Sprintf("answered with %d", intOf(m.Text(m.Error), "code"))
			default:
				how = "answered with a result"
			}
		}
		t.fact(c.name, "%s", how)
		switch {
		case c.id != "" && how != "read":
			worse = append(worse, c.name)
			bad = append(bad, "a line that ends in CRLF is not read: "+how)
		case c.broken && how != "passed over" && how != "answered with -32700" && how != "answered with -32600":
			bad = append(bad, c.name+": "+how)
		}
	}
	switch {
	case len(worse) > 0:
		t.fail("%s", strings.Join(bad, "; "))
	case len(bad) > 0:
		t.fallback("%s: send none", strings.Join(bad, "; "))
	}
	t.pass("all are passed over or answered, and what follows is read")
}

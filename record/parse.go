package record

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// parse reads one line. Members that it does not know are passed over: a later
// version of the shim may add some.
func parse(line []byte) (Entry, error) {
	if line[0] != '{' || !wire.Valid(line) {
		return Entry{}, errors.New("it is no JSON object")
	}
	p := parsing{}
	eachMember(line, p.member)
	if p.err != nil {
		return Entry{}, p.err
	}
	if p.header {
		return p.finishHeader(line)
	}
	return p.finish()
}

type parsing struct {
	e      Entry
	header bool
	has    uint32 // a bit for each of members
	text   []byte // of a frame or an event, in whichever way it was written
	err    error
}

// members are what may be in a line once.
var members = [...]string{"seq", "t", "from", "to", "frame", "text", "base64", "event", "pre", "post",
	"edits", "why", "again", "agent", "session", "data", "format"}

func (p *parsing) once(key []byte) bool {
	for i, name := range members {
		if string(key) == name {
			twice := p.has&(1<<i) != 0
			p.has |= 1 << i
			return !twice
		}
	}
	return true
}

func (p *parsing) got(name string) bool {
	for i := range members {
		if members[i] == name {
			return p.has&(1<<i) != 0
		}
	}
	return false
}

func (p *parsing) member(key, v []byte) bool {
	if !p.once(key) {
		p.err = fmt.Errorf("%q is there twice", key)
		return false
	}
	e := &p.e
	var err error
	switch string(key) {
	case "format":
		p.header = true
	case "seq":
		e.Seq, err = strconv.ParseUint(string(v), 10, 64)
	case "t":
		var t int64
		t, err = strconv.ParseInt(string(v), 10, 64)
		e.T = time.Duration(t)
	case "from":
		e.From, err = peer(v)
	case "to":
		e.To, err = peer(v)
	case "event":
		e.Event, err = word(v)
	case "why":
		e.Why, err = word(v)
	case "session":
		e.Session, err = word(v)
	case "agent":
		if v[0] == '{' { // a header's
			break
		}
		var a proxy.Peer
		a, err = peer(v)
		e.Agent = a.Gen()
	case "frame":
		e.Body, e.JSON = v, true
	case "text":
		p.text, err = text(v)
	case "base64":
		if p.text, err = text(v); err == nil {
			p.text, err = base64.StdEncoding.AppendDecode(nil, p.text)
		}
	case "pre":
		e.Pre, err = text(v)
	case "post":
		e.Post, err = text(v)
	case "edits":
		e.Edits, err = editList(v)
	case "again":
		e.Again = string(v) == "true"
	case "data":
		e.Data = v
	}
	if err != nil {
		p.err = fmt.Errorf("its %q cannot be read: %w", key, err)
	}
	return p.err == nil
}

func (p *parsing) finish() (Entry, error) {
	e := p.e
	if !p.got("seq") || !p.got("t") {
		return e, errors.New(`"seq" or "t" is missing`)
	}
	if p.got("event") {
		if e.Event == "" {
			return e, errors.New(`its "event" is empty`)
		}
		e.Text = p.text
		return e, nil
	}
	n := 0
	for _, name := range []string{"frame", "text", "base64"} {
		if p.got(name) {
			n++
		}
	}
	switch {
	case n != 1:
		return e, fmt.Errorf(`it has %d of "frame", "text", "base64" and "event", and must have one`, n)
	case !p.got("from") || e.From == proxy.Nobody:
		return e, errors.New(`"from" is missing`)
	case !p.got("to"):
		return e, errors.New(`"to" is missing`)
	}
	if !e.JSON {
		e.Body = p.text
	}
	if !p.got("post") {
		e.Post = []byte{'\n'}
	}
	return e, nil
}

func (p *parsing) finishHeader(line []byte) (Entry, error) {
	var h Header
	if err := json.Unmarshal(line, &h); err != nil {
		return Entry{}, fmt.Errorf("its header cannot be read: %w", err)
	}
	if h.Format != Format {
		return Entry{}, fmt.Errorf("its format is %q and not %q", h.Format, Format)
	}
	if h.Version != FormatVersion {
		return Entry{}, fmt.Errorf("its version is %d, and this reader knows only %d; use the acp-shim that wrote it, or a later one", h.Version, FormatVersion)
	}
	return Entry{Header: &h}, nil
}

func text(v []byte) ([]byte, error) {
	if v[0] != '"' {
		return nil, errors.New("it is no string")
	}
	return unquote(v), nil
}

func word(v []byte) (string, error) {
	b, err := text(v)
	return string(b), err
}

func peer(v []byte) (proxy.Peer, error) {
	if string(v) == "null" {
		return proxy.Nobody, nil
	}
	s, err := word(v)
	if err != nil {
		return proxy.Nobody, err
	}
	switch s {
	case "client":
		return proxy.Client, nil
	case "shim":
		return proxy.Shim, nil
	}
	if n, ok := strings.CutPrefix(s, "agent#"); ok {
		if gen, err := strconv.ParseInt(n, 10, 32); err == nil && gen > 0 {
			return proxy.AgentPeer(int(gen)), nil
		}
	}
	return proxy.Nobody, fmt.Errorf("nobody is called %q", s)
}

func editList(v []byte) (list []proxy.Edit, err error) {
	if v[0] != '[' {
		return nil, errors.New("it is no list")
	}
	eachElement(v, func(v []byte) {
		if err != nil {
			return
		}
		if v[0] != '{' {
			err = errors.New("it is no list of objects")
			return
		}
		var e proxy.Edit
		eachMember(v, func(key, v []byte) bool {
			var b []byte
			switch name := string(key); name {
			case "at":
				var at uint64
				at, err = strconv.ParseUint(string(v), 10, 31)
				e.At = int(at)
			case "old", "new", "old64", "new64":
				if b, err = text(v); err == nil && len(name) > 3 {
					b, err = base64.StdEncoding.AppendDecode(nil, b)
				}
				if name[0] == 'o' {
					e.Old = string(b)
				} else {
					e.New = string(b)
				}
			}
			return err == nil
		})
		list = append(list, e)
	})
	return list, err
}

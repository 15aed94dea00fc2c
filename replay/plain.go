package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"acp-shim/internal/wire"
	"acp-shim/record"
)

// maxPlainLine is the longest line of a plain recording.
const maxPlainLine = wire.DefaultMax

// plain reads lines that are the messages themselves. Who sent them is known from
// what they are; so all are read before the first is understood: an agent's
// output alone has answers without a question.
func (l *loader) plain(in io.Reader) error {
	type saved struct {
		ref
		number int
	}
	var lines []saved
	asks := false
	r := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		line, err := r.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading the recording, line %d: %w", n, err)
		}
		end := err == io.EOF
		if len(line) > maxPlainLine {
			l.damaged(&record.LineError{Line: n, Err: errors.New("it is too long")})
			line = nil
		}
		from, raw, labelled := label(line)
		switch {
		case len(bytes.TrimSpace(line)) == 0, end && !wire.Valid(line): // torn
		case labelled:
			if err := l.frame(from, 0, 0, n, raw); err != nil {
				return err
			}
		default:
			if !bytes.HasSuffix(line, []byte("\n")) {
				line = append(line, '\n')
			}
			at, err := l.script.spool.add(line)
			if err != nil {
				return err
			}
			lines = append(lines, saved{at, n})
			var m wire.Message
			m.Parse(line)
			asks = asks || m.Kind == wire.Request && !agentAsks(m.Method)
			if m.Kind == wire.Opaque {
				l.damaged(&record.LineError{Line: n, Err: errors.New("it is cut short, or no JSON-RPC message")})
			}
		}
		if end {
			break
		}
	}
	if err := l.script.spool.flush(); err != nil {
		return err
	}
	var one oneSide
	for _, at := range lines {
		line, err := l.script.spool.read(at.ref)
		if err != nil {
			return err
		}
		if asks {
			l.add(l.sender(line), 0, 0, at.number, at.ref, line)
		} else {
			one.add(l.script, at.ref, at.number, line)
		}
	}
	if !asks && len(lines) > 0 {
		one.end(l.script)
	}
	return nil
}

// label reads a line that says itself who sent it: {"from":"agent","raw":"…"}.
func label(line []byte) (from side, raw []byte, ok bool) {
	if !bytes.Contains(line, []byte(`"raw"`)) {
		return 0, nil, false
	}
	var x struct {
		From string
		Raw  *string
	}
	if json.Unmarshal(line, &x) != nil || x.Raw == nil || x.From != "client" && x.From != "agent" {
		return 0, nil, false
	}
	if x.From == "agent" {
		from = agent
	}
	return from, []byte(*x.Raw), true
}

// agentAsks tells the methods that are the client's to carry out.
func agentAsks(method string) bool {
	switch method {
	case acp.ClientMethodSessionUpdate, acp.ClientMethodSessionRequestPermission:
		return true
	}
	return strings.HasPrefix(method, "fs/") || strings.HasPrefix(method, "terminal/") || strings.HasPrefix(method, "elicitation/")
}

// sender tells who sent a line of a recording of both sides.
func (l *loader) sender(line []byte) side {
	var m wire.Message
	m.Parse(line)
	switch m.Kind {
	case wire.Request:
		if agentAsks(m.Method) {
			return agent
		}
		return client
	case wire.Notification:
		if m.Method == acp.AgentMethodSessionCancel || m.Method == cancelRequest {
			return client
		}
		return agent
	case wire.Response:
		id := string(m.Text(m.ID))
		_, byClient := l.open[asked{0, client, id}]
		_, byAgent := l.open[asked{0, agent, id}]
		outcome, _ := m.Member(m.Result, "outcome")
		if byAgent && (!byClient || outcome.Value.Found()) {
			return client
		}
	}
	return agent
}

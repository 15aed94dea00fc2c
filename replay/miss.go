package replay

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Miss is a frame of the client's that no recorded one is like.
type Miss struct {
	// Method is the frame's, "" for a line that is no message.
	Method string `json:"method"`
	// Request tells that it wanted an answer, and got an error.
	Request bool `json:"-"`
	// Line is that of the nearest frame of the method in the recording, 0 where
	// the method is not in it.
	Line int `json:"line,omitempty"`
	// Differs is how the frame is not the nearest one: at the most eight
	// differences.
	Differs []Difference `json:"differs,omitempty"`
	// Recorded are the methods that were asked for, where this one was not.
	Recorded []string `json:"recorded,omitempty"`
	// Silent tells of a request that a recorded one is like, which was not
	// answered: nor is this one.
	Silent bool `json:"-"`
}

const (
	maxDiffers = 8
	// nearestOf is how many recorded frames are compared for the nearest, and
	// nearestBytes how many bytes of them.
	nearestOf    = 256
	nearestBytes = 32 << 20
)

func (m Miss) Error() string {
	switch {
	case m.Method == "":
		return "the line is no JSON-RPC message"
	case m.Silent:
		return fmt.Sprintf("the recording has no answer to %s of line %d", m.Method, m.Line)
	case m.Line == 0 && len(m.Recorded) > 0:
		return fmt.Sprintf("no %s was recorded, but %s", m.Method, strings.Join(m.Recorded, ", "))
	case m.Line == 0:
		return fmt.Sprintf("no %s was recorded", m.Method)
	case len(m.Differs) == 0:
		return fmt.Sprintf("no recorded %s is like this one; the nearest is that of line %d, in another session", m.Method, m.Line)
	}
	more := ""
	if n := len(m.Differs) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("no recorded %s is like this one; the nearest is that of line %d: %s%s", m.Method, m.Line, m.Differs[0], more)
}

// miss finds out what a frame would have had to be like.
func (s *Script) miss(a ask) Miss {
	m := Miss{Method: a.method, Request: a.request}
	g := s.index[place{a.session, a.method}]
	if g == nil {
		g = s.index[place{anywhere, a.method}]
	}
	if g == nil {
		m.Recorded = s.methods[:min(len(s.methods), 32)]
		return m
	}
	size := 0
	for n, i := range g.blocks {
		if n == nearestOf || size > nearestBytes {
			break
		}
		b := s.blocks[i]
		recorded, err := s.params(b)
		if err != nil {
			break
		}
		size += len(recorded)
		list := s.compare(b, recorded, a, 64)
		if m.Line == 0 || len(list) < len(m.Differs) {
			m.Differs = list
			m.Line = s.number(b)
		}
	}
	m.Differs = m.Differs[:min(len(m.Differs), maxDiffers)]
	return m
}

// JSON-RPC's codes.
const (
	codeParse    = -32700
	codeInvalid  = -32600
	codeMethod   = -32601
	codeInternal = -32603
)

// answer is the error that a request gets.
func (m Miss) answer(id string) []byte {
	code := codeInternal
	if m.Line == 0 {
		code = codeMethod
	}
	data, err := json.Marshal(m)
	if err != nil {
		data = []byte("null")
	}
	return errorAnswer(id, code, "acp-shim replay: "+m.Error(), data)
}

func errorAnswer(id string, code int, message string, data []byte) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		text = []byte(`"acp-shim replay"`)
	}
	if len(data) > 0 {
		data = append([]byte(`,"data":`), data...)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`+"\n", id, code, text, data)
}

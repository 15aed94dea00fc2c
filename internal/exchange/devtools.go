package exchange

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// devtoolsMessage is a message of an acp-devtools export. Its payload is raw once
// more, parsed, and not read.
type devtoolsMessage struct {
	Timestamp float64 `json:"timestamp"`
	Direction string  `json:"direction"`
	Raw       *string `json:"raw"`
}

// devtools reads an export of acp-devtools, one JSON document: its messages one by
// one, and what it says of itself where that comes before them, as acp-devtools
// writes it.
func (w *capture) devtools(r *bufio.Reader) error {
	d := json.NewDecoder(r)
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("reading %s: %w", w.im.Name, err)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return w.broken(d, err)
		}
		switch key {
		case "version":
			var v json.RawMessage
			if err = d.Decode(&v); err == nil && string(v) != "1" {
				return fmt.Errorf("%s is an export of acp-devtools of version %s, and only version 1 is known", w.im.Name, v)
			}
		case "tool":
			var tool struct{ Name, Version string }
			if err = d.Decode(&tool); err == nil {
				w.origin = strings.TrimSpace(tool.Name + " " + tool.Version)
			}
		case "session":
			err = w.devtoolsSession(d)
		case "messages":
			err = w.devtoolsMessages(d)
		default:
			var skip json.RawMessage
			err = d.Decode(&skip)
		}
		if err != nil {
			return w.broken(d, err)
		}
	}
	return nil
}

// broken is the end of a document that breaks off: what came before stays.
func (w *capture) broken(d *json.Decoder, err error) error {
	if w.done.Frames == 0 {
		return fmt.Errorf("reading %s, at byte %d: %w", w.im.Name, d.InputOffset(), err)
	}
	w.damaged(1, fmt.Errorf("the document breaks off at byte %d, after %d messages: %w", d.InputOffset(), w.done.Frames, err))
	return nil
}

func (w *capture) devtoolsSession(d *json.Decoder) error {
	var s struct {
		Name         *string `json:"name"`
		AgentCommand *string `json:"agentCommand"`
		StartedAt    float64 `json:"startedAt"`
	}
	if err := d.Decode(&s); err != nil {
		return err
	}
	if s.Name != nil {
		w.agent.Name = *s.Name
	}
	if s.AgentCommand != nil {
		// How its words were joined is not known; spaces in one of them are lost.
		w.agent.Argv = strings.Fields(*s.AgentCommand)
	}
	if s.StartedAt > 0 && s.StartedAt < 1e15 && w.done.Frames == 0 {
		w.start = time.UnixMicro(int64(s.StartedAt * 1e3))
	}
	return nil
}

func (w *capture) devtoolsMessages(d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return errors.New("messages must be an array")
	}
	for n := 0; d.More(); n++ {
		var x devtoolsMessage
		if err := d.Decode(&x); err != nil {
			return err
		}
		from, ok := whose(x.Direction)
		if x.Raw == nil || !ok {
			w.damaged(1, fmt.Errorf("message %d has no raw or no direction", n))
			continue
		}
		m := message{line: []byte(*x.Raw + "\n"), from: from, labelled: true}
		if x.Timestamp > 0 && x.Timestamp < 1e15 {
			m.when = moment{at: time.UnixMicro(int64(x.Timestamp * 1e3)), kind: absolute}
		}
		if err := w.add(m); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

package view

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
)

// detail is what only the detail of a row needs.
type detail struct {
	// Body is the frame as it was sent, an event's text or data. JSON tells that
	// it is one value.
	Body string `json:"b"`
	JSON bool   `json:"j,omitempty"`
	// Before is the frame as it was received, where the shim changed it.
	Before string `json:"o,omitempty"`
	Edits  []edit `json:"e,omitempty"`
	// Text is an event's text beside its data.
	Text string `json:"t,omitempty"`
	ID   string `json:"i,omitempty"`
	// Size is that of the whole body, where only its beginning is here.
	Size int `json:"s,omitempty"`
}

type edit struct {
	At  int    `json:"at"`
	Old string `json:"old"`
	New string `json:"new"`
}

const (
	// maxBody is how much of a frame is in the page: a browser's strings end at
	// half a gigabyte, and its patience before that.
	maxBody = 8 << 20
	// blockRows and blockBytes bound what is decoded to show one frame.
	blockRows  = 256
	blockBytes = 512 << 10
)

// keep puts what a row's detail needs into the block.
func (p *Page) keep(r *trace.Record) error {
	d := detail{ID: r.ID}
	body := r.Body
	switch {
	case r.Kind == trace.Event && r.Data != nil:
		body, d.JSON, d.Text = r.Data, true, readable(r.Text)
	case r.Kind == trace.Event:
		body = r.Text
	default:
		d.JSON = r.JSON
		if !r.JSON {
			body = r.Sent()
		}
		if len(r.Edits) > 0 {
			before := bytes.TrimSpace(r.Received())
			d.Before = readable(before[:min(len(before), maxBody)])
		}
		for _, e := range r.Edits {
			d.Edits = append(d.Edits, edit{e.At, begin(e.Old), begin(e.New)})
		}
	}
	if len(body) > maxBody {
		d.Size, d.JSON = len(body), false
		body = body[:maxBody]
		p.cut++
	}
	d.Body = readable(body)
	p.cols.rows[len(p.cols.rows)-1].block = uint32(len(p.spool.sizes))
	p.block = append(p.block, d)
	p.size += len(d.Body) + len(d.Before)
	if len(p.block) >= blockRows || p.size >= blockBytes {
		return p.flush()
	}
	return nil
}

// flush ends a block.
func (p *Page) flush() error {
	if len(p.block) == 0 {
		return nil
	}
	err := p.spool.add(p.block)
	clear(p.block)
	p.block, p.size = p.block[:0], 0
	return err
}

func begin(text string) string { return readable([]byte(show.Begin(text, 64<<10))) }

// readable is bytes as text, those that are no UTF-8 spelled out.
func readable(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&out, `\x%02x`, b[0])
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}

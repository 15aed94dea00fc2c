package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"os/exec"
)

// entry is a line of a capture, as far as it matters here.
type entry struct {
	Format string          `json:"format"`
	Seq    uint64          `json:"seq"`
	Event  string          `json:"event"`
	To     *string         `json:"to"`
	Pre    string          `json:"pre"`
	Frame  json.RawMessage `json:"frame"`
	Text   *string         `json:"text"`
	Base64 string          `json:"base64"`
	Post   *string         `json:"post"`
	Data   struct {
		Frames int    `json:"frames"`
		First  uint64 `json:"first"`
		Last   uint64 `json:"last"`
	} `json:"data"`
}

// sent is the line as it was sent.
func (e *entry) sent() []byte {
	line := []byte(e.Pre)
	switch {
	case e.Frame != nil:
		line = append(line, e.Frame...)
	case e.Text != nil:
		line = append(line, *e.Text...)
	default:
		b, _ := base64.StdEncoding.DecodeString(e.Base64)
		line = append(line, b...)
	}
	if e.Post != nil {
		return append(line, *e.Post...)
	}
	return append(line, '\n')
}

// whole holds the capture to what the client got: every frame of it, as often, less
// those that a gap counts.
func (r *run) whole() error {
	f, err := os.Open(r.capture)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<20)
	next, lost, lines, ended := uint64(1), 0, 0, false
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		lines++
		var e entry
		// Frames with an event's data are told from it by their event.
		if err := json.Unmarshal(line, &e); err != nil && e.Event == "" {
			return fmt.Errorf("line %d of the capture: %w", lines, err)
		}
		if e.Format != "" {
			continue
		}
		if e.Event == "gap" {
			lost += e.Data.Frames
			if e.Data.First != next {
				return fmt.Errorf("line %d of the capture: a gap from %d, after %d", lines, e.Data.First, next-1)
			}
			next = e.Data.Last + 1
		}
		if e.Seq != next {
			return fmt.Errorf("line %d of the capture: seq %d follows %d", lines, e.Seq, next-1)
		}
		next++
		ended = e.Event == "end"
		if e.Event == "" && e.To != nil && *e.To == "client" {
			r.c.got[maphash.Bytes(r.c.seed, e.sent())]--
		}
	}
	if !ended {
		return fmt.Errorf("the capture does not end in order")
	}
	missing, beyond := 0, 0
	for _, n := range r.c.got {
		missing += max(n, 0)
		beyond += max(-n, 0)
	}
	if missing > lost || beyond > 0 {
		return fmt.Errorf("the capture lacks %d frames that the client got, and has %d that it did not; gaps count %d", missing, beyond, lost)
	}
	fmt.Printf("the capture is whole: %d lines, %d frames in gaps\n", lines, lost)
	if out, err := exec.Command(r.shim, "stats", r.capture).CombinedOutput(); err != nil {
		return fmt.Errorf("acp-shim stats: %w\n%s", err, out)
	}
	return nil
}

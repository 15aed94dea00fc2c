package view

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool holds blocks of frames, compressed, in a temporary file until the page is
// written.
type spool struct {
	file  *os.File
	sizes []int64 // of the blocks
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "acp-shim-view-*")
	if err != nil {
		return nil, fmt.Errorf("making a temporary file for the frames: %w", err)
	}
	return &spool{file: f}, nil
}

func (s *spool) close() error {
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}

// add appends a block.
func (s *spool) add(v any) error {
	b, err := packed(v)
	if err == nil {
		_, err = s.file.Write(b)
	}
	if err != nil {
		return fmt.Errorf("keeping frames in %s: %w", s.file.Name(), err)
	}
	s.sizes = append(s.sizes, int64(len(b)))
	return nil
}

// copyTo writes the blocks as elements of the page.
func (s *spool) copyTo(w io.Writer) error {
	at := int64(0)
	for i, size := range s.sizes {
		fmt.Fprintf(w, "<script type=\"application/octet-stream\" id=\"b%d\">", i)
		if _, err := io.Copy(w, io.NewSectionReader(s.file, at, size)); err != nil {
			return fmt.Errorf("copying frames into the page: %w", err)
		}
		io.WriteString(w, "</script>\n")
		at += size
	}
	return nil
}

// packed is a value as JSON, compressed, in base64.
func packed(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // base64 comes around it
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return deflated(text.Bytes())
}

// deflated is bytes compressed, in base64. The level is a fast one: a window of a
// large capture is made while somebody waits.
func deflated(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, zlib.BestSpeed)
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.AppendEncode(nil, out.Bytes()), nil
}

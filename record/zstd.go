package record

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// zstdMagic is what a zstd frame begins with (RFC 8878, 3.1.1).
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// maxWindow bounds the memory that a compressed capture can ask for: it is what
// the zstd program accepts without being told to (--long=27).
const maxWindow = 128 << 20

// plain reads what in holds, decoded where that is compressed. A stream that was
// torn ends where it was torn.
func plain(in *bufio.Reader) (*bufio.Reader, func(), error) {
	if head, _ := in.Peek(len(zstdMagic)); !bytes.Equal(head, zstdMagic) {
		return in, func() {}, nil
	}
	// A concurrency of one decodes in the caller's goroutine, and hands out all
	// that stands before a tear.
	d, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(maxWindow), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, fmt.Errorf("decompressing the capture: %w", err)
	}
	return bufio.NewReaderSize(&untorn{d: d}, 64<<10), d.Close, nil
}

// untorn ends at a tear as at an end.
type untorn struct{ d *zstd.Decoder }

func (r *untorn) Read(p []byte) (int, error) {
	n, err := r.d.Read(p)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = io.EOF
	case err != nil && err != io.EOF:
		err = fmt.Errorf("decompressing it: %w", err)
	}
	return n, err
}

// newEncoder compresses in the caller's goroutine, with a few MiB.
func newEncoder(w io.Writer) (*zstd.Encoder, error) {
	return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
}

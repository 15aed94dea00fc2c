package wire

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"acp-shim/fixtures/seeds"
)

// cutter hands a stream over in pieces of random size.
type cutter struct {
	b   []byte
	rng *rand.Rand
}

func (c *cutter) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := min(len(p), len(c.b), 1+c.rng.IntN(40))
	copy(p, c.b[:n])
	c.b = c.b[n:]
	return n, nil
}

func readAll(t *testing.T, r *Reader) []byte {
	t.Helper()
	var all []byte
	for {
		batch, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Fatal(err)
			}
			return all
		}
		if len(batch) == 0 {
			t.Fatal("an empty batch")
		}
		for len(batch) > 0 {
			var line []byte
			line, batch = Cut(batch)
			all = append(all, line...)
		}
	}
}

// FuzzReader: wherever a stream is cut and however the buffers lie, every line comes
// out as it went in, and of those beyond the limit each is told of in its place.
func FuzzReader(f *testing.F) {
	f.Add([]byte("{\"a\":1}\r\n\n[1]\nnoise\xff\x00\n{\"no\":\"end\"}"), uint64(1), 0)
	frames := seeds.Frames()
	for i, line := range frames {
		f.Add(append(append(slices.Clone(line), '\n'), frames[(i+1)%len(frames)]...), uint64(i), i%3*len(line))
	}
	f.Fuzz(func(t *testing.T, in []byte, seed uint64, limit int) {
		for _, chunk := range []int{chunkSize, 8} {
			r := NewReader(&cutter{in, rand.New(rand.NewPCG(seed, 2))}, limit)
			r.chunk = chunk
			if chunk == 8 {
				r.buf = make([]byte, 8)
			}
			if limit <= 0 {
				if got := readAll(t, r); !bytes.Equal(got, in) {
					t.Fatalf("in chunks of %d: got %q, want %q", chunk, got, in)
				}
				continue
			}
			one := &single{Reader: r}
			for line := range bytes.Lines(in) {
				got, err := one.line()
				if long, is := AsTooLong(err); is != (len(bytes.TrimSuffix(line, []byte("\n"))) > limit) {
					t.Fatalf("in chunks of %d, at most %d: %q is %q, %v", chunk, limit, line, got, err)
				} else if is && !bytes.HasPrefix(line, long.Head) {
					t.Fatalf("the head of %q is %q", line, long.Head)
				} else if !is && (err != nil || !bytes.Equal(got, line)) {
					t.Fatalf("in chunks of %d: got %q, want %q, %v", chunk, got, line, err)
				}
			}
			if got, err := one.line(); err != io.EOF {
				t.Fatalf("behind the end: %q, %v", got, err)
			}
		}
	})
}

// single reads one line at a time.
type single struct {
	*Reader
	rest []byte
}

// line is the next line, or the error in its place.
func (s *single) line() (line []byte, err error) {
	if len(s.rest) == 0 {
		if s.rest, err = s.Next(); err != nil {
			return nil, err
		}
	}
	line, s.rest = Cut(s.rest)
	return line, nil
}

func TestReaderOneByteAtATime(t *testing.T) {
	in := strings.Repeat("{\"a\":\"b\"}\n\n", 1000) + "last"
	if got := readAll(t, NewReader(iotest.OneByteReader(strings.NewReader(in)), 0)); string(got) != in {
		t.Error("the stream changed")
	}
}

func TestReaderLargeFrames(t *testing.T) {
	big := strings.Repeat("x", 5<<20)
	in := "small\n" + big + "\nsmall\n" + big + "\nend\n"
	r := NewReader(strings.NewReader(in), 0)
	if got := readAll(t, r); string(got) != in {
		t.Error("the stream changed")
	}
	if len(r.buf) > keepSize {
		t.Errorf("a buffer of %d bytes is kept", len(r.buf))
	}
}

func TestReaderTooLong(t *testing.T) {
	for _, size := range []int{101, 1000, readSize + 5, 3 * readSize} {
		in := "first\n" + strings.Repeat("y", size) + "\nlast\n"
		r := NewReader(&cutter{[]byte(in), rand.New(rand.NewPCG(3, 4))}, 100)
		if size == 1000 {
			r.chunk, r.buf = 64, make([]byte, 64)
		}
		var got []string
		for {
			batch, err := r.Next()
			if long, ok := AsTooLong(err); ok {
				if len(long.Head) == 0 || long.Head[0] != 'y' {
					t.Fatalf("head %q", long.Head)
				}
				got = append(got, "too long")
				continue
			}
			if err != nil {
				break
			}
			for len(batch) > 0 {
				var line []byte
				line, batch = Cut(batch)
				got = append(got, string(line))
			}
		}
		if strings.Join(got, "|") != "first\n|too long|last\n" {
			t.Errorf("size %d: %q", size, got)
		}
	}
}

func TestReaderError(t *testing.T) {
	boom := errors.New("boom")
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(boom)), 0)
	var got []byte
	for {
		batch, err := r.Next()
		if err != nil {
			if err != boom {
				t.Errorf("got %v", err)
			}
			break
		}
		got = append(got, batch...)
	}
	if string(got) != "a\nb" {
		t.Errorf("got %q", got)
	}
}

// TestLargeLinesLieAlone: a line beyond Alone stays as it is while others are read, of
// any length and cut anywhere; the buffer that lines share is no longer than that.
func TestLargeLinesLieAlone(t *testing.T) {
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var all []byte
		for range 40 {
			size := rng.IntN(1 << rng.IntN(18))
			if rng.IntN(3) == 0 {
				size = rng.IntN(4 << 19)
			}
			line := make([]byte, size+1)
			c := byte('a' + rng.IntN(26))
			for i := range line {
				line[i] = c + byte(i%7)
			}
			line[len(line)-1] = '\n'
			all = append(all, line...)
		}
		src := &pieces{b: all, next: func() int { return 1 + rng.IntN(1<<rng.IntN(20)) }}
		r := NewReader(src, 0)
		r.chunk = 1 << 19
		type kept struct {
			at   int
			line []byte
		}
		var large []kept
		at := 0
		for {
			batch, err := r.Next()
			if err != nil {
				break
			}
			for len(batch) > 0 {
				var line []byte
				line, batch = Cut(batch)
				if len(line) > r.chunk {
					large = append(large, kept{at, line})
				}
				if !bytes.Equal(line, all[at:at+len(line)]) {
					t.Fatalf("seed %d: the line at %d is wrong when it comes", seed, at)
				}
				at += len(line)
			}
			if len(r.buf) > r.chunk {
				t.Fatalf("seed %d: the buffer has %d bytes", seed, len(r.buf))
			}
		}
		if at != len(all) || len(large) == 0 {
			t.Fatalf("seed %d: %d of %d bytes, %d large lines", seed, at, len(all), len(large))
		}
		for _, k := range large {
			if !bytes.Equal(k.line, all[k.at:k.at+len(k.line)]) {
				t.Errorf("seed %d: the line at %d, of %d bytes, was written over", seed, k.at, len(k.line))
			}
		}
	}
}

// pieces gives its bytes out in pieces.
type pieces struct {
	b    []byte
	next func() int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.b) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.b[:min(len(p.b), p.next())])
	p.b = p.b[n:]
	return n, nil
}

package record

import (
	"bufio"
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	enc, err := newEncoder(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(enc, text); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decoded is the text of a capture in a file.
func decoded(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, end, err := plain(bufio.NewReader(f))
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	b, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// long is a capture of several blocks of zstd.
func long(t testing.TB) string {
	rng := rand.New(rand.NewPCG(9, 9))
	s := sample(t)
	head, rest, _ := strings.Cut(s, "\n")
	var b strings.Builder
	b.WriteString(head + "\n")
	for b.Len() < 600<<10 {
		b.WriteString(rest)
		b.WriteString(`{"seq":1,"t":1,"event":"note","text":"`)
		for range 500 {
			b.WriteByte(byte('a' + rng.IntN(26)))
		}
		b.WriteString("\"}\n")
	}
	return b.String()
}

func TestOpenCompressed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.jsonl.zst")
	s := sample(t)
	if err := os.WriteFile(path, zipped(t, s), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(strings.TrimSuffix(path, compressed)) // by the name that it had
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if again, err := Open(path); err != nil {
		t.Error(err)
	} else {
		again.Close()
	}
	if c.Header == nil || c.Header.Agent.Name != "agy" {
		t.Errorf("header %+v", c.Header)
	}
	for range 2 {
		n := 0
		for _, err := range c.Entries() {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != strings.Count(s, "\n") {
			t.Errorf("%d entries", n)
		}
	}
}

// TestReadTornZstd cuts a compressed capture everywhere: what was whole before the
// tear is read, a longer piece never says less, and nothing is an error.
func TestReadTornZstd(t *testing.T) {
	s := long(t)
	z := zipped(t, s)
	last := 0
	step := 1
	if testing.Short() {
		step = 97
	}
	for n := 4; n <= len(z); n += step {
		if n == 2000 {
			step = 997 // the blocks are all alike
		}
		got := 0
		for _, err := range Read(bytes.NewReader(z[:n])) {
			if err != nil {
				t.Fatalf("cut at %d of %d: %v", n, len(z), err)
			}
			got++
		}
		if got < last {
			t.Fatalf("cut at %d: %d entries, and %d in less", n, got, last)
		}
		last = got
	}
	if want := strings.Count(s, "\n"); last < want*2/3 {
		t.Errorf("%d entries of %d before the end", last, want)
	}
}

// TestReadFlippedZstd: damage is an error and no panic.
func TestReadFlippedZstd(t *testing.T) {
	z := zipped(t, sample(t))
	rng := rand.New(rand.NewPCG(5, 6))
	failed := 0
	for range 3000 {
		b := bytes.Clone(z)
		for range 1 + rng.IntN(3) {
			b[4+rng.IntN(len(b)-4)] ^= 1 << rng.IntN(8)
		}
		for e, err := range Read(bytes.NewReader(b)) {
			if err != nil {
				failed++
			} else if e.IsFrame() {
				e.Received()
			}
		}
	}
	if failed == 0 {
		t.Error("no damage was seen")
	}
}

// TestZstdBomb: what says it needs more memory than any capture of ours does is
// refused.
func TestZstdBomb(t *testing.T) {
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	enc.Write([]byte(sample(t)))
	enc.Flush()
	enc.Write([]byte(sample(t)))
	enc.Close()
	var last error
	for _, err := range Read(&b) {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "decompressing") {
		t.Errorf("error %v", last)
	}
}

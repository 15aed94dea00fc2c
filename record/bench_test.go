package record

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// chunk is a frame of a stream, of about 200 bytes.
var chunk = []byte(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0c7b8f0e-6f0c-4c0e-9d0c-7b8f0e6f0c4c","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Here it is"}}}}` + "\n")

func BenchmarkRedact(b *testing.B) {
	code, err := os.ReadFile("walk.go")
	if err != nil {
		b.Fatal(err)
	}
	for _, bm := range []struct {
		name  string
		frame []byte
	}{
		{"chunk", chunk},
		{"chunk that speaks of tokens", []byte(strings.Replace(string(chunk), "Here it is", "5 tokens of the key", 1))},
		{"session new", []byte(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/x","mcpServers":[{"type":"http","name":"b","url":"http://127.0.0.1:5/mcp","headers":[{"name":"x-bridge-token","value":"0c7b8f0e6f0c4c0e"}]}]}}`)},
		{"program of 9 KB", []byte(`{"text":` + wire.Quote(string(code)) + `}`)},
		{"picture of 20 MB", []byte(`{"data":"` + strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAkey0", 20<<20/28) + `"}`)},
		{"text of 20 MB", []byte(`{"text":"` + strings.Repeat(`a line with a token in it\n`, 20<<20/27) + `"}`)},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(bm.frame)))
			b.ReportAllocs()
			for b.Loop() {
				Redact(bm.frame)
			}
		})
	}
}

// BenchmarkFrame is what recording costs under the loop's lock.
func BenchmarkFrame(b *testing.B) {
	q := Writer{queue: queue{max: DefaultQueue}, armed: true, start: time.Now(), wake: make(chan struct{}, 1)}
	f := &proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: chunk}
	b.ReportAllocs()
	for b.Loop() {
		q.Frame(f)
		if q.queue.held > 3*chunkSize {
			chunks, _ := q.queue.take(q.queue.chunks)
			for _, c := range chunks {
				q.queue.give(c, 0)
			}
		}
	}
}

// BenchmarkFlush is what a frame costs the flusher, without the disk.
func BenchmarkFlush(b *testing.B) {
	other := []byte(`{"jsonrpc":"2.0","id":12,"result":{"configOptions":[{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"default","options":[{"value":"default","name":"Default"}]}],"n":[1,2,3]}}` + "\n")
	var known [][]byte
	for n := range 10 {
		known = append(known, fmt.Appendf(nil, "s3cr3t-T0ken-%d", n))
	}
	for _, bm := range []struct {
		name   string
		raw    bool
		frames [2][]byte
		known  [][]byte
	}{
		{"stream", false, [2][]byte{chunk, bytes.Replace(chunk, []byte("Here"), []byte("And there"), 1)}, nil},
		{"mixed", false, [2][]byte{chunk, other}, nil},
		{"stream, raw", true, [2][]byte{chunk, bytes.Replace(chunk, []byte("Here"), []byte("And there"), 1)}, nil},
		{"stream, ten secrets known", false, [2][]byte{chunk, bytes.Replace(chunk, []byte("Here"), []byte("And there"), 1)}, known},
		{"mixed, ten secrets known", false, [2][]byte{chunk, other}, known},
	} {
		b.Run(bm.name, func(b *testing.B) {
			w := newWriter(nowhere{newDisk()}, "", Options{Raw: bm.raw})
			if err := w.Close(); err != nil {
				b.Fatal(err)
			}
			f := &w.flush
			f.out, f.lines, f.ended = nil, nil, 0
			f.clean.known = newHunter(bm.known)
			f.rec = record{kind: isFrame, from: proxy.AgentPeer(1), to: proxy.Client}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				f.rec.bytes = bm.frames[n%2]
				f.line()
			}
		})
	}
}

type nowhere struct{ *disk }

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkRead reads a capture of 20,000 frames.
func BenchmarkRead(b *testing.B) {
	d := newDisk()
	w := newWriter(d, "", Options{})
	for range 20_000 {
		w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: chunk})
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(d.b)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range Read(io.Reader(strings.NewReader(d.text()))) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

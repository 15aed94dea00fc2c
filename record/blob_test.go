package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/wire"
	"acp-shim/proxy"

	"github.com/google/go-cmp/cmp"
)

// picture is some bytes, their base64, and what stands in for that.
func picture(n int, kind string) (text, marker string) {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	marker = fmt.Sprintf("[blob: %d bytes, sha256 %x", n, sha256.Sum256(b))
	if kind != "" {
		marker += ", " + kind
	}
	return base64.StdEncoding.EncodeToString(b), marker + "]"
}

func TestBlobs(t *testing.T) {
	const limit = 1000
	big, marker := picture(1000, "image/png")
	_, plainMarker := picture(1000, "")
	small, _ := picture(100, "")
	url := strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(big)
	escaped := strings.ReplaceAll(big, "/", `\/`)
	var lines strings.Builder
	for i := 0; i < len(big); i += 76 {
		lines.WriteString(big[i:min(i+76, len(big))] + `\r\n`)
	}
	for _, tt := range []struct{ name, frame, want string }{
		{"a picture", `{"type":"image","data":"` + big + `","mimeType":"image/png"}`, `{"type":"image","data":"` + marker + `","mimeType":"image/png"}`},
		{"its type before it", `{"a":[{"mimeType":"image/png", "blob" : "` + big + `" }]}`, `{"a":[{"mimeType":"image/png", "blob" : "` + marker + `" }]}`},
		{"a type of somebody else", `{"mimeType":"text/plain","a":{"data":"` + big + `"}}`, `{"mimeType":"text/plain","a":{"data":"` + plainMarker + `"}}`},
		{"in a list", `["` + big + `"]`, `["` + plainMarker + `"]`},
		{"alone", `"` + big + `"`, `"` + plainMarker + `"`},
		{"a hostile type", `{"data":"` + big + `","mimeType":"\u001b[2J\"]"}`, `{"data":"` + plainMarker + `","mimeType":"\u001b[2J\"]"}`},
		{"two", `{"a":"` + big + `","b":"` + big + `"}`, `{"a":"` + plainMarker + `","b":"` + plainMarker + `"}`},
		{"for URLs", `{"a":"` + url + `"}`, `{"a":"` + plainMarker + `"}`},
		{"escaped", `{"a":"` + escaped + `"}`, `{"a":"` + plainMarker + `"}`},
		{"in lines", `{"a":"` + lines.String() + `"}`, `{"a":"` + plainMarker + `"}`},
		{"a data URL", `{"a":"data:image/png;base64,` + big + `"}`, `{"a":"data:image/png;base64,` + marker + `"}`},
		{"in a text", `{"a":"it is ` + big + ` and no more"}`, `{"a":"it is ` + plainMarker + ` and no more"}`},
		{"in JSON in a string", `{"a":"{\"data\":\"` + big + `\",\"n\":1}"}`, `{"a":"{\"data\":\"` + plainMarker + `\",\"n\":1}"}`},
		{"a secret", `{"token":"` + big + `"}`, `{"token":"[redacted]"}`},
		{"small", `{"a":"` + small + `","b":"` + strings.Repeat("x y ", 500) + `"}`, ""},
		{"a name", `{"` + big + `":1}`, ""},
		{"text", `{"a":"` + strings.Repeat("not base64. ", 200) + `"}`, ""},
		{"of no length that base64 has", `{"a":"` + strings.Repeat("a", 2001) + `"}`, ""},
		{"no JSON", `{"a":"` + big + `"`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == "" {
				want = tt.frame
			}
			c := cleaner{maxBlob: limit}
			got := c.json([]byte(tt.frame))
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
			if again := c.json(got); !bytes.Equal(again, got) {
				t.Errorf("again it is %s", again)
			}
			if keep := (&cleaner{}).json([]byte(`{"a":"` + big + `"}`)); !bytes.Contains(keep, []byte(big)) {
				t.Error("without a limit it is gone, too")
			}
		})
	}
}

// TestBlobInText: a line of stderr may have a whole frame in it.
func TestBlobInText(t *testing.T) {
	big, marker := picture(3000, "")
	c := cleaner{raw: true, maxBlob: 2000}
	in := `RAW WS MSG: {"data":"` + big + `","n":` + strings.Repeat("1, ", 900) + `}`
	if got, want := string(c.text([]byte(in))), strings.Replace(in, big, strings.TrimSuffix(marker, ""), 1); !strings.HasPrefix(got, `RAW WS MSG: {"data":"[blob: 300`) || len(got) > len(in)-3900 {
		t.Errorf("got %s\nwant about %s", got, want)
	}
}

// TestBlobEdits: edits of frames with blobs in them, and in the edits, still give
// back what was received, both ends cleaned in the same way.
func TestBlobEdits(t *testing.T) {
	big, _ := picture(1000, "")
	other, _ := picture(1001, "")
	frame := `{"id":1,"method":"session/prompt","params":{"token":"s3cr3t-T0ken","prompt":[{"type":"image","data":"` + big + `","mimeType":"image/png"},{"text":"` + other + `"}]}}` + "\n"
	rng := rand.New(rand.NewPCG(1, 1))
	for _, raw := range []bool{true, false} {
		c := cleaner{raw: raw, maxBlob: 900}
		for range 300 {
			m := &wire.Message{}
			m.Parse([]byte(frame))
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(m.Raw))
				switch rng.IntN(4) {
				case 0: // the end of a blob, and what is behind it
					at = bytes.Index(m.Raw, []byte(`","mime`)) - rng.IntN(20) + 10
				case 1:
					at = bytes.Index(m.Raw, []byte(`"prompt"`))
				}
				if at < 0 {
					continue
				}
				m.Splice(at, min(rng.IntN(9), len(m.Raw)-at), []string{"", "abc", `"`, `"a":"` + big + `",`, big}[rng.IntN(5)])
			}
			edits := make([]edit, len(m.Edits()))
			for i, e := range m.Edits() {
				edits[i] = edit{e.At, []byte(e.Old), []byte(e.New)}
			}
			sent, told := c.frame(m.Raw, edits)
			if want := c.json(m.Raw); !bytes.Equal(sent, want) {
				t.Fatalf("sent %s, want %s", sent, want)
			}
			var back []proxy.Edit
			for _, e := range told {
				back = append(back, proxy.Edit{At: e.at, Old: string(e.old), New: string(e.new)})
			}
			if got, want := wire.Undo(sent, back), c.json([]byte(frame)); !bytes.Equal(got, want) {
				t.Fatalf("received %s, want %s", got, want)
			}
		}
	}
}

// TestBlobsRecorded: the header says that there was a limit, also in a raw capture,
// and a stream of frames that are alike does not get one past it.
func TestBlobsRecorded(t *testing.T) {
	big, marker := picture(3000, "image/png")
	d := newDisk()
	w := newWriter(d, "f", Options{Raw: true, MaxBlob: 2000, Start: time.Now()})
	frame := func(data string) *proxy.Frame {
		return &proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: []byte(`{"data":"` + data + `","mimeType":"image/png"}` + "\n")}
	}
	for _, data := range []string{"abcd", "abce", big, "abcf", big} {
		w.Frame(frame(data))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list := entries(t, d.text())
	if h := list[0].Header; h.MaxBlob != 2000 || h.Redacted {
		t.Errorf("header %+v", h)
	}
	var got []string
	for _, e := range list[1:6] {
		data, _, _ := strings.Cut(strings.TrimPrefix(string(e.Body), `{"data":"`), `","`)
		got = append(got, data)
	}
	if want := []string{"abcd", "abce", marker, "abcf", marker}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

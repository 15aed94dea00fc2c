package probe

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-shim/record"
)

// TestProofs has the proofs of a report in the capture, and no secret in either.
func TestProofs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "capture.jsonl")
	opt := simulated(t, "--build", "1.3.0")
	opt.Secret = NewSecret()
	secret := []byte(opt.Secret)
	w, err := record.Create(path, record.Options{MaxBlob: 4 << 10, Secrets: func() [][]byte { return [][]byte{secret} }})
	if err != nil {
		t.Fatal(err)
	}
	opt.Tap = w
	r := probed(t, opt)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	report, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][]byte{"the capture": b, "the report": report} {
		if bytes.Contains(text, secret) {
			t.Errorf("%s has the secret in it", what)
		}
		if len(text) > 8<<20 {
			t.Errorf("%s has %d bytes", what, len(text))
		}
	}
	frames := map[uint64]record.Entry{}
	for e, err := range record.Read(bytes.NewReader(b)) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Event == "gap" {
			t.Error("the capture has a gap")
		}
		frames[e.Seq] = e
	}
	proofs := 0
	for _, g := range r.Gates {
		for _, p := range g.Proofs {
			proofs++
			e, ok := frames[p.Seq]
			if !ok {
				t.Errorf("%s: the capture has no %d", g.ID, p.Seq)
				continue
			}
			want := strings.ToValidUTF8(string(bytes.TrimRight(e.Sent(), "\r\n")), "\ufffd")
			text, _, _ := strings.Cut(p.Text, "…")
			if !e.IsFrame() {
				want = e.Event
			}
			if strings.HasSuffix(p.Text, " bytes)") || p.Text == "(a blank line)" { // one of the long lines
				continue
			}
			// Of base64 the capture keeps the length only.
			for _, name := range []string{`"padding":"`, `"data":"`} {
				text, _, _ = strings.Cut(text, name)
			}
			if !strings.HasPrefix(want, text) {
				t.Errorf("%s: %d is %.200q, and the proof says %q", g.ID, p.Seq, want, p.Text)
			}
			if from := e.From.Gen(); e.IsFrame() && (from == 0) != (p.From == "client") {
				t.Errorf("%s: %d is from agent %d, and the proof says %s", g.ID, p.Seq, from, p.From)
			}
		}
	}
	if proofs < 100 {
		t.Errorf("%d proofs", proofs)
	}
	// What was kept is read again.
	file := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(file, report, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := ReadReport(file)
	if err != nil {
		t.Fatal(err)
	}
	if c := Compare(r, again); len(c.Changes) > 0 || len(c.NotCompared) > 0 {
		t.Errorf("%+v", c)
	}
}

func TestReadReport(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"empty":   {"", "no report of acp-shim probe --json"},
		"capture": {`{"format":"acp-shim-capture","version":1}`, `its format is "acp-shim-capture"`},
		"newer":   {`{"format":"acp-shim-probe","version":7,"gates":[{"id":"A"}]}`, "version 7"},
		"bare":    {`{"format":"acp-shim-probe","version":1}`, "without a gate"},
		"huge":    {`{"format":"acp-shim-probe","version":1,"gates":[{"id":"` + strings.Repeat("x", maxReport) + `"}]}`, "larger than"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadReport(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := ReadReport(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Error(err)
	}
}

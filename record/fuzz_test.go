package record

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/wire"
)

// plants are members in which secrets stand; % is the secret, as a string's text.
var plants = []string{
	`"headers":[{"name":"X-Own","value":"%"}]`, `"headers":[{"value":"%","name":"X-Own"}]`, `"headers":{"X-Own":"%"}`,
	`"env":[{"value":"%","name":"OWN"}]`, `"env":{"OWN":"%"}`,
	`"api_key":"%"`, `"accessToken":"%"`, `"db":{"password":"%"}`,
	`"own":"run curl -H 'Authorization: Bearer %' https://h/ now"`, `"own":["token=%"]`,
	`"own":"open https://accounts.example/auth?client_id=me&state=%&x=1"`, `"own":"postgres://me:%@db.example/x"`,
}

// plant puts a member with a secret into the n-th place of a frame that may have
// one, with some of its characters escaped; "" where there is no such place.
func plant(rng *rand.Rand, frame []byte, n int, member string) string {
	var places []int
	for i, c := range frame {
		if c == '{' {
			places = append(places, i+1)
		}
	}
	if len(places) == 0 {
		return ""
	}
	at := places[n%len(places)]
	if next := wire.Space(frame, at); next < len(frame) && frame[next] != '}' {
		member += ","
	}
	if rng.IntN(2) == 0 {
		member = escapeStrings(rng, member)
	}
	made := string(frame[:at]) + member + string(frame[at:])
	if !wire.Valid([]byte(made)) {
		return "" // it was a bracket in a string
	}
	return made
}

// escapeStrings escapes characters of keys and of values.
func escapeStrings(rng *rand.Rand, text string) string {
	parts := strings.Split(text, `"`)
	for i := 1; i < len(parts); i += 2 {
		quoted := escapeAll(rng, `"`+parts[i]+`"`)
		parts[i] = quoted[1 : len(quoted)-1]
	}
	return strings.Join(parts, `"`)
}

// FuzzPlanted: wherever a secret is put into a frame, and however it is written, it
// is gone after the redaction, and the frame is JSON, with the id, method and session
// that it had.
func FuzzPlanted(f *testing.F) {
	for i, frame := range seeds.Frames() {
		f.Add(frame, i, uint64(i))
	}
	f.Fuzz(func(t *testing.T, frame []byte, n int, seed uint64) {
		if !wire.Valid(frame) || n < 0 || bytes.ContainsRune(frame, 'S') && bytes.Contains(frame, []byte("S3cr")) {
			return
		}
		rng := rand.New(rand.NewPCG(seed, 9))
		known := secrets(rng)
		secret, member := "S3cr"+known[0][4:20], ""
		if k := rng.IntN(len(plants) + 2); k < len(plants) {
			member = strings.ReplaceAll(plants[k], "%", secret)
		} else {
			// One that is known by its looks, in a text or as a name.
			secret = known[rng.IntN(len(known))]
			if member = `"own":"it is ` + secret + ` indeed"`; k > len(plants) {
				member = `"` + secret + `":1`
			}
		}
		in := plant(rng, frame, n, member)
		if in == "" || duplicated(frame) {
			return
		}
		out := Redact([]byte(in))
		if bytes.Contains(out, []byte(secret)) || strings.Contains(decodedStrings(string(out)), secret) {
			t.Fatalf("%s\nis still in\n%s\nof\n%s", secret, out, in)
		}
		if !wire.Valid(out) {
			t.Fatalf("no JSON any more: %s\nof %s", out, in)
		}
		var was, is wire.Message
		was.Parse([]byte(in))
		is.Parse(out)
		if was.Kind != is.Kind || was.Method != is.Method || string(was.Text(was.ID)) != string(is.Text(is.ID)) {
			// Unless they were secrets themselves: then they are not what they were before, either.
			var bare wire.Message
			if bare.Parse(Redact(frame)); bare.Method == was.Method && string(bare.Text(bare.ID)) == string(was.Text(was.ID)) {
				t.Fatalf("%s\nhas another head than\n%s", out, in)
			}
		}
	})
}

// duplicated tells that encoding/json would not see all of a frame.
func duplicated(frame []byte) bool {
	m := &wire.Message{}
	m.Parse(frame)
	return m.Twice
}

// FuzzDamage puts anything in the place of one line of a capture: of that line it is
// told, or it is an entry, and every other one is read as it was.
func FuzzDamage(f *testing.F) {
	text := sample(f)
	for _, b := range seeds.Captures()[:1] {
		text += string(b)
	}
	lines := slices.Collect(strings.Lines(text))
	for i, line := range lines {
		f.Add(i, []byte(line[:len(line)/2]))
		f.Add(i, []byte(strings.Replace(line, `"seq":`, `"seq":1e`, 1)))
	}
	for i, line := range seeds.Frames() {
		f.Add(i%len(lines), line)
	}
	type read struct {
		entry Entry
		err   error
	}
	readAll := func(text string) map[int]read {
		all := map[int]read{}
		for e, err := range Read(strings.NewReader(text)) {
			all[e.Line] = read{e, err}
		}
		return all
	}
	was := readAll(text)
	f.Fuzz(func(t *testing.T, at int, line []byte) {
		if at < 0 || bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		at %= len(lines)
		damaged := slices.Clone(lines)
		damaged[at] = string(line) + "\n"
		is := readAll(strings.Join(damaged, ""))
		for n, r := range was {
			if n == at+1 {
				continue
			}
			if got := is[n]; r.err != nil || got.err != nil || !reflect.DeepEqual(r.entry, got.entry) {
				t.Fatalf("with %q for line %d line %d is %+v, %v", line, at+1, n, got.entry, got.err)
			}
		}
		got, there := is[at+1]
		if blank := len(bytes.TrimSpace(line)) == 0; there == blank && len(line) != 0 {
			t.Fatalf("%q for line %d: said of it %v", line, at+1, there)
		}
		if there && got.err == nil && !wire.Valid(line) {
			t.Fatalf("%q is read as %+v", line, got.entry)
		}
	})
}

package install

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
)

func TestUnpackRefuses(t *testing.T) {
	with := func(more ...ent) func(*testing.T) []byte {
		return func(t *testing.T) []byte { return zipOf(t, append(good(), more...)) }
	}
	patched := func(from, to string) func(*testing.T) []byte {
		return func(t *testing.T) []byte {
			b := zipOf(t, append(good(), ent{from, "x", 0o644}))
			return bytes.ReplaceAll(b, []byte(from), []byte(to))
		}
	}
	for _, c := range []struct {
		name  string
		bytes func(*testing.T) []byte
		want  string
	}{
		{"an absolute path", with(ent{"/etc/x", "x", 0o644}), `"/etc/x" would be unpacked to somewhere else`},
		{"a way out", with(ent{"../x", "x", 0o644}), `"../x" would be unpacked to somewhere else`},
		{"a way out inside", with(ent{"lib/../../x", "x", 0o644}), "would be unpacked to somewhere else"},
		{"a dot", with(ent{"./x", "x", 0o644}), "would be unpacked to somewhere else"},
		{"a backslash", with(ent{`..\x`, "x", 0o644}), `has a \ or : in its name`},
		{"a drive", with(ent{"C:x", "x", 0o644}), `has a \ or : in its name`},
		{"control characters", with(ent{"a\x1b[2Jb", "x", 0o644}), "has control characters in its name"},
		{"no UTF-8", patched("aQQQb", "a\xff\xfe\xffb"), "has no usable name"},
		{"a name of dots", with(ent{"x./y", "x", 0o644}), "has a name that not every system can hold"},
		{"a long name", with(ent{strings.Repeat("x", 300), "x", 0o644}), "has a name that not every system can hold"},
		{"a link out", with(ent{"lib/out", "../../../etc/passwd", fs.ModeSymlink | 0o777}), "is a link"},
		{"a device", with(ent{"dev", "", fs.ModeDevice | 0o600}), "is neither a file nor a directory"},
		{"a pipe", with(ent{"pipe", "", fs.ModeNamedPipe | 0o600}), "is neither a file nor a directory"},
		{"twice", with(ent{harness, "other", 0o644}), "is there twice"},
		{"a clash of case", with(ent{"LIB/X.txt", "other", 0o644}), "are one file on some systems"},
		{"directories of other case", with(ent{"Lib/y.txt", "other", 0o644}), "are one on some systems"},
		{"a file that is a directory", with(ent{"lib", "other", 0o644}), "is a file and a directory"},
		{"our own records", with(ent{"install.json", "{}", 0o644}), "has the name of a record"},
		{"no server", func(t *testing.T) []byte { return zipOf(t, good()[1:]) }, "has no agy_acp_server.par in it"},
		{"a server too deep", func(t *testing.T) []byte {
			return zipOf(t, []ent{{"a/b/" + serverPar, "x", 0o755}})
		}, "has no agy_acp_server.par in it"},
		{"too many entries", func(t *testing.T) []byte {
			list := good()
			for i := range maxEntries {
				list = append(list, ent{fmt.Sprint(i), "", 0o644})
			}
			return zipOf(t, list)
		}, "entries, more than 10000"},
		{"a list without end", func(t *testing.T) []byte {
			list := good()
			for i := range 9000 {
				list = append(list, ent{fmt.Sprint(strings.Repeat("x/", 490), i), "", 0o644})
			}
			return zipOf(t, list)
		}, "the list of its entries is larger than 8 MiB"},
		{"a bomb", func(t *testing.T) []byte { return lying(t, ratioFrom+1) }, "as no archive of programs does"},
		{"a lie of its size", func(t *testing.T) []byte { return lying(t, 1<<40) }, "it unpacks to"},
		{"a small lie", func(t *testing.T) []byte { return lying(t, 3) }, `"lie" `},
		{"encrypted", func(t *testing.T) []byte {
			b := zipOf(t, good())
			at := bytes.Index(b, []byte("PK\x01\x02"))
			b[at+8] |= 1
			return b
		}, "is encrypted"},
		{"damaged", func(t *testing.T) []byte {
			b := zipOf(t, good())
			at := bytes.Index(b, []byte(harness)) + len(harness)
			b[at+1] ^= 0xff
			return b
		}, "is damaged"},
		{"half", func(t *testing.T) []byte { b := zipOf(t, good()); return b[:len(b)/2] }, "only a part of it is there"},
		{"empty", func(*testing.T) []byte { return nil }, "it is empty"},
		{"a page", func(*testing.T) []byte { return []byte("<!doctype html>\x1b[2J<p>log in") }, `it begins with "<!doctype html>."`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			_, err := w.install(Request{File: w.file(stamped, c.bytes(t))})
			fails(t, err, c.want)
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' }) {
				t.Errorf("control characters in %q", err)
			}
			w.nothing()
		})
	}
}

// lying is an archive with an entry that says another size than it has.
func lying(t *testing.T, says uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range good() {
		f, _ := w.Create(e.name)
		f.Write([]byte(e.text))
	}
	// Stored: the writer takes our word for the sizes.
	text := strings.Repeat("x", 100)
	f, err := w.CreateRaw(&zip.FileHeader{Name: "lie", Method: zip.Store, CompressedSize64: uint64(len(text)), UncompressedSize64: says})
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpackKeepsWhatWasThere(t *testing.T) {
	w := newWorld(t)
	w.must(Request{File: w.file(stamped, zipOf(t, good()))})
	_, err := w.install(Request{File: w.file("bad.zip", zipOf(t, append(good(), ent{"../x", "x", 0o644}))), Build: "1.2.1", Force: true})
	fails(t, err, "somewhere else")
	w.isLeft(installed...)
}

func FuzzReadArchive(f *testing.F) {
	f.Add(zipOf(f, good()))
	f.Add(zipOf(f, []ent{{"../x", "x", 0o644}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readArchive(bytes.NewReader(b), int64(len(b)), "linux-x86_64")
		if err != nil {
			return
		}
		for _, it := range p.items {
			if strings.HasPrefix(it.name, "/") || strings.Contains(it.name, "..") && strings.Contains("/"+it.name+"/", "/../") {
				t.Errorf("it would unpack %q", it.name)
			}
		}
	})
}

package install

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// entryText is an entry in the form of the registry's agent.json.
func entryText(archive, more string) string {
	return fmt.Sprintf(`{
  "id": "antigravity-acp", "name": "Google Antigravity", "version": "1.2.1", "description": "x", "authors": ["Google LLC"],
  "distribution": {"binary": {
    "darwin-aarch64": {"archive": "https://dl.example.com/agy-acp-server-1.2.1-darwin-arm64.zip", "cmd": "./agy_acp_server.par"},
    "linux-x86_64": {"archive": %q, "cmd": "./agy_acp_server.par", "args": ["--uid="]%s}
  }}
}`, archive, more)
}

func TestRegistry(t *testing.T) {
	b := zipOf(t, good())
	for _, c := range []struct {
		name  string
		entry func(archive string) string
		req   Request
		build string
		fails string
	}{
		{"an entry", func(a string) string { return entryText(a, "") }, Request{}, "1.2.1", ""},
		{"an index", func(a string) string {
			return `{"version":"1.0.0","agents":[{"id":"other","version":"9.9.9"},` + entryText(a, "") + `]}`
		}, Request{}, "1.2.1", ""},
		{"the build that is asked for", func(a string) string { return entryText(a, "") }, Request{Build: "1.2.1"}, "1.2.1", ""},
		{"the version of a build of another name", func(a string) string {
			return entryText(strings.Replace(a, "1.2.1", "20260818_01_RC01", 1), "")
		}, Request{Build: "1.2.1"}, "20260818_01_RC01", ""},
		{"the build's own name", func(a string) string {
			return entryText(strings.Replace(a, "1.2.1", "20260818_01_RC01", 1), "")
		}, Request{Build: "20260818_01_RC01"}, "20260818_01_RC01", ""},
		{"another build", func(a string) string { return entryText(a, "") }, Request{Build: "1.1.1"}, "", "now has the build 1.2.1 and not 1.1.1; name the archive of another build with --url"},
		{"an archive without a stamp", func(a string) string {
			return entryText(strings.Replace(a, stamped, "server.zip", 1), "")
		}, Request{}, "1.2.1", ""},
		{"a hash", func(a string) string { return entryText(a, `, "sha256": "`+sum(b)+`"`) }, Request{}, "1.2.1", ""},
		{"a wrong hash", func(a string) string { return entryText(a, `, "sha256": "`+strings.Repeat("2", 64)+`"`) }, Request{}, "", "it is not the archive that was meant"},
		{"two hashes", func(a string) string { return entryText(a, `, "sha256": "`+strings.Repeat("2", 64)+`"`) }, Request{SHA256: sum(b)}, "", "is not the hash that the registry"},
		{"a hash that is none", func(a string) string { return entryText(a, `, "sha256": "x"`) }, Request{}, "", "is no SHA-256"},
		{"another platform", func(a string) string { return entryText(a, "") }, Request{Platform: "windows-x86_64"}, "", "is not there for windows-x86_64, only for darwin-aarch64, linux-x86_64"},
		{"another entry", func(a string) string { return `{"id":"gemini"}` }, Request{}, "", `it has the entry "gemini" and not antigravity-acp`},
		{"an index without it", func(a string) string { return `{"agents":[]}` }, Request{}, "", "it has no entry antigravity-acp"},
		{"no JSON", func(a string) string { return `<html>` }, Request{}, "", "it is no registry entry"},
		{"no address", func(a string) string { return entryText("file:///etc/passwd", "") }, Request{}, "", "is none that begins with https://"},
		{"too large", func(a string) string { return strings.Repeat(" ", maxRegistry+1) }, Request{}, "", "it has more than 8 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, way := range []string{"address", "file"} {
				w, s := newWorld(t), newServer(t, b)
				text := c.entry(s.archive())
				c.req.Registry = s.URL + "/registry.json?sig=SECRET"
				s.answers = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(text)) }}
				if way == "file" {
					if c.name == "too large" {
						continue
					}
					s.answers = nil
					c.req.Registry = w.file("agent.json", []byte(text))
				}
				r, err := w.install(c.req)
				if c.fails != "" {
					fails(t, err, c.fails)
					if strings.Contains(err.Error(), "SECRET") {
						t.Errorf("it tells a secret: %v", err)
					}
					w.nothing()
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				src := r.Manifest.Source
				if r.Manifest.Build != c.build || src.Version != "1.2.1" || !strings.HasPrefix(src.URL, s.URL) || src.Registry == "" || strings.Contains(src.Registry, "SECRET") {
					t.Errorf("build %q, source %+v", r.Manifest.Build, src)
				}
			}
		})
	}
}

func TestRegistryErrors(t *testing.T) {
	w, s := newWorld(t), newServer(t, nil)
	s.answers = []http.HandlerFunc{status(404)}
	_, err := w.install(Request{Registry: s.URL + "/x?sig=SECRET"})
	fails(t, err, "reading the registry "+s.URL+"/x: there is nothing at that address")
	w.nothing()
	_, err = w.install(Request{Registry: w.dir + "/agent.json"})
	fails(t, err, "reading the registry: there is no file")
	w.nothing()
	_, err = w.install(Request{Registry: "http://192.0.2.1/registry.json"})
	fails(t, err, "is not encrypted")
	w.nothing()
}

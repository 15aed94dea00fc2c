package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/settings"
)

// TestKnownSecrets are those that the settings hold and name, those of the file
// that is injected, also after it has changed, and no more than that.
func TestKnownSecrets(t *testing.T) {
	dir := t.TempDir()
	token, config := filepath.Join(dir, "token"), filepath.Join(dir, "mcp.json")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(token, "from-the-file-1\n")
	write(config, `{"mcpServers":{"a":{ // with a comment
		"command":"x","env":{"HOME":"/home/me","KEY":"v4riable-V1"}}}}`)
	t.Setenv("HEADER", "Bearer from-the-env-1")
	k := newKnownSecrets(&settings.Settings{
		Bridge: "http://me:us3rinfo-V1@127.0.0.1:9/", BridgeToken: "file:" + token,
		MCPHeaders: []string{"a:Authorization=env:HEADER", "a:X=plain-header-1", "a:Y=env:NOT_SET"}, MCPConfig: config,
	})
	has := func(want ...string) {
		t.Helper()
		var got []string
		for _, s := range k.list() {
			got = append(got, string(s))
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s is not in %q", w, got)
			}
		}
		if all := strings.Join(got, " "); strings.Contains(all, "/home/me") {
			t.Errorf("a directory is among them: %s", all)
		}
	}
	has("from-the-file-1", "from-the-env-1", "plain-header-1", "us3rinfo-V1", "v4riable-V1")
	write(config, `[{"name":"a","url":"http://h/","headers":[{"name":"X","value":"h3ader-V2"}]}]`)
	if err := os.Chtimes(config, time.Now(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	has("v4riable-V1", "h3ader-V2", "from-the-file-1")
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	has("v4riable-V1", "h3ader-V2")
}

func TestRedactedName(t *testing.T) {
	for name, want := range map[string]string{
		"c.jsonl": "c.redacted.jsonl", "d/c.jsonl.zst": "d/c.redacted.jsonl.zst", "c": "c.redacted", "-": "-", "a.b/c": "a.b/c.redacted",
	} {
		if got := redactedName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

package login

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWriteSettings(t *testing.T) {
	home := t.TempDir()
	s, err := Read(home)
	if err != nil {
		t.Fatal(err)
	}
	changed, backup, err := s.Write("gemini-api-key", "", "")
	if !changed || backup != "" || err != nil {
		t.Fatal(changed, backup, err)
	}
	if b, _ := os.ReadFile(s.Path); string(b) != "{\"auth\":{\"type\":\"gemini-api-key\"}}\n" {
		t.Errorf("%s", b)
	}
	// What else is there stays, byte by byte, and so does its mode.
	text := "{\n  \"theme\": 1.50,\n  \"auth\": {\"type\": \"oauth-personal\", \"x\": [1,2]}\n}\n"
	if os.WriteFile(s.Path, []byte(text), 0o600) != nil || os.Chmod(s.Path, 0o600) != nil {
		t.Fatal("the file could not be written")
	}
	s, err = Read(home)
	if err != nil || s.Type != "oauth-personal" {
		t.Fatal(s, err)
	}
	changed, backup, err = s.Write("oauth-business", "p", "eu")
	if !changed || err != nil {
		t.Fatal(changed, err)
	}
	b, _ := os.ReadFile(s.Path)
	if want := strings.Replace(text, "oauth-personal", "oauth-business", 1); strings.Replace(string(b), "\n,\"gcp\":{\"project\":\"p\",\"location\":\"eu\"}", "\n", 1) != want {
		t.Errorf("%s", b)
	}
	if b, _ := os.ReadFile(backup); string(b) != text {
		t.Errorf("before it was %s", b)
	}
	if info, _ := os.Stat(s.Path); info.Mode().Perm() != 0o600 {
		t.Error(info.Mode())
	}
	s, _ = Read(home)
	if changed, _, err := s.Write("oauth-business", "p", ""); changed || err != nil {
		t.Error("nothing was to change", err)
	}
}

func TestBrokenSettings(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "antigravity-acp", "settings.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{"auth":`, `[]`, `"x"`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(home); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNeeds(t *testing.T) {
	env := func(kv ...string) func(string) string {
		return func(name string) string {
			for _, x := range kv {
				if v, ok := strings.CutPrefix(x, name+"="); ok {
					return v
				}
			}
			return ""
		}
	}
	project := Settings{Project: "p", Location: "l"}
	for _, row := range []struct {
		method string
		set    Settings
		env    func(string) string
		needs  string
	}{
		{"oauth-personal", Settings{}, env(), ""},
		{"gemini-api-key", Settings{}, env(), "GEMINI_API_KEY"},
		{"gemini-api-key", Settings{}, env("GEMINI_API_KEY=k"), ""},
		{"oauth-business", Settings{Project: "p"}, env(), "gcp.location"},
		{"oauth-business", project, env(), ""},
		{"agent-platform", Settings{}, env("GOOGLE_CLOUD_PROJECT=p"), "GOOGLE_API_KEY"},
		{"vertex-ai", Settings{}, env("GOOGLE_CLOUD_PROJECT=p", "GOOGLE_CLOUD_LOCATION=l"), ""},
		{"agent-platform", project, env(), ""},
		{"agent-platform", Settings{}, env("GOOGLE_API_KEY=k"), ""},
	} {
		needs := strings.Join(row.set.Needs(row.method, row.env), "; ")
		if (needs == "") != (row.needs == "") || !strings.Contains(needs, row.needs) {
			t.Errorf("%s needs %q", row.method, needs)
		}
	}
}

// TestWriteOddSettings has nothing written where the agent would not read what was.
func TestWriteOddSettings(t *testing.T) {
	for _, text := range []string{
		`{"auth":{"type":"a"},"auth":{"type":"b"}}`,
		`{"auth":{"type":"oauth-personal","type":"b"}}`,
		`{"auth":[1]}`,
		strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20),
	} {
		home := t.TempDir()
		path := filepath.Join(home, "antigravity-acp", "settings.json")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		set, err := Read(home)
		if err == nil {
			_, _, err = set.Write("oauth-personal", "", "")
		}
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "mend the file") {
			t.Errorf("%.40s: %v", text, err)
		}
		b, _ := os.ReadFile(path)
		if list, _ := os.ReadDir(filepath.Dir(path)); string(b) != text || len(list) != 1 {
			t.Errorf("%.40s is now %.40s, beside it %v", text, b, list)
		}
	}
}

// TestWriteTwiceAtOnce has the second backup leave the first alone.
func TestWriteTwiceAtOnce(t *testing.T) {
	s := &Settings{Path: filepath.Join(t.TempDir(), "settings.json")}
	now := time.Now()
	first := s.backupPath(now)
	if err := os.WriteFile(first, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if second := s.backupPath(now); second == first {
		t.Error("it is overwritten")
	}
}

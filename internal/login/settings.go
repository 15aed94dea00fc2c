package login

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"acp-shim/internal/textfile"
)

// Method is a way to log in to the Antigravity server.
type Method struct {
	// ID is what authenticate takes, and auth.type of the server's settings.
	ID string
	// Browser tells that a page has to be opened.
	Browser bool
	// What it is for, in a few words.
	What string
}

// Methods are those of the server, the most common first (seed).
func Methods() []Method {
	return []Method{
		{"oauth-personal", true, "a Google account, in a browser"},
		{"gemini-api-key", false, "an API key of the Gemini Developer API, in GEMINI_API_KEY"},
		{"oauth-business", true, "a Gemini Enterprise account, in a browser, with a Google Cloud project"},
		{"agent-platform", false, "the Gemini Enterprise Agent Platform (formerly Vertex AI), by GOOGLE_API_KEY or by a project with Application Default Credentials"},
	}
}

// Lookup is the method with this id; vertex-ai is the old name of agent-platform.
func Lookup(id string) (Method, bool) {
	if id == "vertex-ai" {
		id = "agent-platform"
	}
	for _, m := range Methods() {
		if m.ID == id {
			return m, true
		}
	}
	return Method{}, false
}

// Settings are the server's settings of one home.
type Settings struct {
	// Path is the file, which need not be there.
	Path string
	// Type, Project and Location are auth.type, gcp.project and gcp.location.
	Type, Project, Location string
	text                    []byte
	mode                    fs.FileMode
}

// SettingsPath is the server's settings file below home (GEMINI_HOME).
func SettingsPath(home string) string {
	return filepath.Join(home, "antigravity-acp", "settings.json")
}

// Read reads the server's settings below home (GEMINI_HOME). A file that is not
// there is one with nothing in it.
func Read(home string) (*Settings, error) {
	s := &Settings{Path: SettingsPath(home), mode: 0o644}
	b, err := textfile.Read(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the agent's settings: %w", err)
	}
	if info, err := os.Stat(s.Path); err == nil {
		s.mode = info.Mode().Perm()
	}
	// gjson's own check is a recursion without a limit.
	if len(b) > 0 && (!json.Valid(b) || !gjson.ParseBytes(b).IsObject()) {
		return nil, fmt.Errorf("the agent's settings %s are no JSON object, so that the agent does not read them; mend the file or move it away", s.Path)
	}
	s.text = b
	s.Type = gjson.GetBytes(b, "auth.type").String()
	s.Project = gjson.GetBytes(b, "gcp.project").String()
	s.Location = gjson.GetBytes(b, "gcp.location").String()
	return s, nil
}

// Needs says what a method still needs, by the settings and the environment; nothing
// where it can be tried. The conditions are those that the server's own error lists
// (seed).
func (s *Settings) Needs(method string, getenv func(string) string) []string {
	project := s.Project != "" && s.Location != ""
	switch method {
	case "gemini-api-key":
		if getenv("GEMINI_API_KEY") == "" {
			return []string{"GEMINI_API_KEY in the environment of the client that starts the agent: an API key of https://aistudio.google.com/apikey"}
		}
	case "oauth-business":
		if !project {
			return []string{"gcp.project and gcp.location in " + s.Path + ": --project and --location with --write put them there"}
		}
	case "agent-platform", "vertex-ai":
		if getenv("GOOGLE_API_KEY") == "" && !project && (getenv("GOOGLE_CLOUD_PROJECT") == "" || getenv("GOOGLE_CLOUD_LOCATION") == "") {
			return []string{"GOOGLE_API_KEY in the environment of the client that starts the agent; or Application Default Credentials (gcloud auth application-default login) " +
				"with a project and a location, from GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION or from " + s.Path + " (--project and --location with --write put them there)"}
		}
	}
	return nil
}

// Write puts a method, and where they are not empty a project and a location, into
// the file; what else is there stays as it is. What was there is kept beside it, in
// the file that is returned, "" for none. Nothing is written where nothing changes.
func (s *Settings) Write(method, project, location string) (changed bool, backup string, err error) {
	text := s.text
	if len(text) == 0 {
		text = []byte("{}")
	}
	for _, f := range []struct{ path, have, want string }{
		{"auth.type", s.Type, method}, {"gcp.project", s.Project, project}, {"gcp.location", s.Location, location},
	} {
		if f.want == "" || f.have == f.want {
			continue
		}
		if text, err = sjson.SetBytes(text, f.path, f.want); err != nil {
			return false, "", s.oddError()
		}
		changed = true
	}
	if !says(text, "auth", "type", method) || project != "" && !says(text, "gcp", "project", project) || location != "" && !says(text, "gcp", "location", location) {
		return false, "", s.oddError()
	}
	if !changed {
		return false, "", nil
	}
	if text = bytes.TrimRight(text, "\n"); len(s.text) == 0 || s.text[len(s.text)-1] == '\n' {
		text = append(text, '\n')
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return false, "", fmt.Errorf("making the place of the agent's settings: %w", err)
	}
	if s.text != nil {
		backup = s.backupPath(time.Now())
		if err := textfile.Write(backup, s.text, s.mode); err != nil {
			return false, "", fmt.Errorf("keeping the agent's settings as they were: %w", err)
		}
	}
	if err := textfile.Write(s.Path, text, s.mode); err != nil {
		return false, "", fmt.Errorf("writing the agent's settings: %w", err)
	}
	s.text, s.Type = text, method
	return true, backup, nil
}

// says tells that a parser finds the value in a text. Most take the last of a key
// that is there twice, sjson the first.
func says(text []byte, object, name, want string) bool {
	var all, in map[string]json.RawMessage
	var got string
	return json.Unmarshal(text, &all) == nil && json.Unmarshal(all[object], &in) == nil && json.Unmarshal(in[name], &got) == nil && got == want
}

func (s *Settings) oddError() error {
	return fmt.Errorf("the agent's settings %s have auth or gcp twice, or as something that is no object, and were not touched; mend the file or move it away", s.Path)
}

// backupPath is a name that is free.
func (s *Settings) backupPath(now time.Time) string {
	base := s.Path + ".before-" + now.Format("20060102-150405")
	path := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(path); err != nil {
			return path
		}
		path = fmt.Sprintf("%s-%d", base, n)
	}
}

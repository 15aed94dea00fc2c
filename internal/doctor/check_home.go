package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"acp-shim/internal/login"
	"acp-shim/internal/textfile"
)

// agentHome is where the agent keeps its things, "" where there is no home.
func (x *Exam) agentHome() string {
	if dir := x.Getenv("GEMINI_HOME"); dir != "" {
		return dir
	}
	if home := x.home(); home != "" {
		return filepath.Join(home, ".gemini")
	}
	return ""
}

// inHome is a path in the directory of the Antigravity server (seed).
func (x *Exam) inHome(name string) string {
	return filepath.Join(x.agentHome(), "antigravity-acp", name)
}

func (x *Exam) geminiHome() []Finding {
	if !x.isAgy() {
		return nil
	}
	dir := x.agentHome()
	where := x.tilde(dir)
	by := ", by default"
	if x.Getenv("GEMINI_HOME") != "" {
		by = ", by GEMINI_HOME"
	}
	if dir == "" {
		return one(problem("there is neither GEMINI_HOME nor a home directory: the agent has no place for its login and its conversations").
			remedy("set HOME or GEMINI_HOME in the environment of the editor"))
	}
	if !filepath.IsAbs(dir) {
		return one(problem("GEMINI_HOME is %s, which is another directory wherever the editor starts the agent", dir).remedy("set it to a path from the root on"))
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if link, err := os.Readlink(dir); err == nil {
			return one(problem("%s%s, is a link to %s, which is not there", where, by, link).remedy("make that directory, or remove the link"))
		}
		if up := x.above(dir); !x.Writable(up) {
			return one(problem("%s%s, cannot be made: %s is not writable", where, by, x.tilde(up)).remedy("make it, or set GEMINI_HOME to a directory that can be"))
		}
		return one(ok("%s%s, not there yet: the agent makes it", where, by))
	case err != nil:
		return one(problem("%s%s: %s", where, by, because(err)).remedy("make it a directory that this user can write to"))
	case !info.IsDir():
		return one(problem("%s%s, is no directory", where, by).remedy("remove the file, or set GEMINI_HOME to a directory"))
	case !x.Writable(dir):
		return one(problem("%s%s, is not writable: neither a login nor a conversation can be kept", where, by).remedy("chmod u+rwx %s", dir))
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != filepath.Clean(dir) {
		by += ", which is " + x.tilde(real)
	}
	return one(ok("%s%s", where, by))
}

// startOnly is why a change to the settings may seem to do nothing (seed).
const startOnly = "; the agent reads it only when it starts"

// login looks at what the chosen login needs.
func (x *Exam) login() []Finding {
	if !x.isAgy() || x.agentHome() == "" {
		return nil
	}
	path := x.inHome("settings.json")
	s, err := x.settings()
	if err != nil {
		return one(problem("%s cannot be used: %s", x.tilde(path), why(path, err)).remedy("correct it, or remove it and log in again with acp-shim login" + startOnly))
	}
	if s.Type == "" {
		if x.hasToken() {
			return one(ok("none is chosen in %s, and a login with Google is kept: the agent goes on with that; acp-shim doctor --session shows whether it does", x.tilde(path)))
		}
		return one(warning("no login is chosen in %s", x.tilde(path)).remedy("acp-shim login, or log in from the editor"))
	}
	if _, known := login.Lookup(s.Type); !known {
		var ids []string
		for _, m := range login.Methods() {
			ids = append(ids, m.ID)
		}
		return one(problem("%s chooses the login %q, which the agent does not know", x.tilde(path), clip(s.Type)).
			remedy("auth.type is one of %s%s", strings.Join(ids, ", "), startOnly))
	}
	if missing := s.Needs(s.Type, x.Getenv); len(missing) > 0 {
		return one(problem("the login %s is chosen in %s, and what it needs is not here", s.Type, x.tilde(path)).
			remedy("%s%s", strings.Join(missing, "; "), startOnly))
	}
	text := "login " + s.Type
	if s.Type == "vertex-ai" {
		text += " (the older name of agent-platform)"
	}
	return one(ok("%s, chosen in %s", text, x.tilde(path)))
}

// errNoFile is what stands where a file should: a directory, or a FIFO, whose opening
// would wait for a writer.
var errNoFile = errors.New("it is no file")

// settings are the agent's.
func (x *Exam) settings() (*login.Settings, error) {
	if info, err := os.Stat(x.inHome("settings.json")); err == nil && !info.Mode().IsRegular() {
		return nil, errNoFile
	}
	return login.Read(x.agentHome())
}

// why says what is wrong with a file, whose path stands before it: in which line it
// stops being JSON, if it does.
func why(path string, err error) string {
	if errors.Is(err, errNoFile) {
		return err.Error()
	}
	b, rerr := textfile.Read(path)
	if rerr != nil {
		return strings.TrimPrefix(because(rerr), path+" ")
	}
	// Python's json, by which the server reads it, refuses one, as RFC 8259 allows.
	if bytes.HasPrefix(b, []byte("\ufeff")) {
		return "it begins with a byte order mark, which is no JSON; save it as UTF-8 without one"
	}
	var text json.RawMessage
	var at *json.SyntaxError
	if errors.As(json.Unmarshal(b, &text), &at) {
		off := min(max(int(at.Offset), 0), len(b))
		return fmt.Sprintf("line %d: %s", 1+strings.Count(string(b[:off]), "\n"), at)
	}
	return "it is no JSON object, and the agent does not read it"
}

// hasToken tells that a login with Google is kept.
func (x *Exam) hasToken() bool {
	info, err := os.Stat(x.inHome("acp_token.json"))
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// token looks whether a token is there. What is in it is nobody's business.
func (x *Exam) token() []Finding {
	if !x.isAgy() || x.agentHome() == "" {
		return nil
	}
	chosen := login.Method{}
	if s, err := x.settings(); err == nil {
		chosen, _ = login.Lookup(s.Type)
	}
	path, needed := x.inHome("acp_token.json"), chosen.Browser
	// The chosen login may open a session without a token, which alone says nothing to log in for.
	anew := "acp-shim login --again"
	if chosen.Browser && chosen.ID != login.Methods()[0].ID {
		anew = "acp-shim login " + chosen.ID + " --again"
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !needed:
		if chosen.ID == "" {
			if other := x.otherLogin(); other != "" {
				return one(warning("no token; %s is another program's login, and does not count for this agent", x.tilde(other)).remedy("acp-shim login"))
			}
		}
		return one(ok("none, and none is needed before a login with Google is chosen"))
	case errors.Is(err, fs.ErrNotExist):
		text := "there is no token in " + x.tilde(path)
		if other := x.otherLogin(); other != "" {
			text += "; " + x.tilde(other) + " is another program's login, and does not count for this agent"
		}
		return one(problem("%s", text).remedy("%s", anew))
	case err != nil:
		return one(problem("%s: %s", x.tilde(path), because(err)).remedy("acp-shim login writes a new one, once the old one is removed"))
	case !info.Mode().IsRegular() || info.Size() == 0:
		return one(problem("%s is empty, or no file", x.tilde(path)).remedy("remove it, and %s", anew))
	case x.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return one(warning("others may read %s (mode %04o)", x.tilde(path), info.Mode().Perm()).
			remedy("chmod 600 %s", path).fix(func() error { return os.Chmod(path, 0o600) }))
	}
	return one(ok("%s, for this user only", x.tilde(path)))
}

// otherLogin is a login of the agy command line or of gemini-cli, which share the
// directory with the server and not their tokens.
func (x *Exam) otherLogin() string {
	dirs := []string{x.agentHome()}
	if home := x.home(); home != "" {
		dirs = append(dirs, filepath.Join(home, ".gemini"))
	}
	for _, dir := range dirs {
		for _, name := range []string{"antigravity-cli/antigravity-oauth-token", "oauth_creds.json"} {
			path := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	return ""
}

package install

import (
	"fmt"
	"net/url"
	"path"
	"runtime"
	"strings"
)

// maxName bounds a build's name: it is a directory, and is shown in tables.
const maxName = 100

// CheckName says what is wrong with a build's name.
func CheckName(name string) error {
	bad := func(why string) error {
		return fmt.Errorf("%q is no name for a build: %s; a name is made of letters, digits and . _ - +, like 1.2.1", clip(name), why)
	}
	switch {
	case name == "":
		return bad("it is empty")
	case len(name) > maxName:
		return bad(fmt.Sprintf("it is longer than %d bytes", maxName))
	case strings.EqualFold(name, currentLink):
		return bad("the link to the build in use is called that")
	case strings.Trim(name, ".") != name || strings.HasPrefix(name, "-"):
		return bad("it begins or ends with a dot, or begins with a dash")
	}
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-+", r)) {
			return bad(fmt.Sprintf("it has %q in it", r))
		}
	}
	return nil
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// Platform is this machine in the registry's words (agent.schema.json there).
func Platform() string { return platform(runtime.GOOS, runtime.GOARCH) }

func platform(goos, goarch string) string {
	switch goarch {
	case "amd64":
		goarch = "x86_64"
	case "arm64":
		goarch = "aarch64"
	}
	return goos + "-" + goarch
}

// Stamp is what an archive's file name says of it.
type Stamp struct{ Build, Platform string }

// archivePrefix and the order of what follows are those of Google's archives:
// agy-acp-server-1.2.1-linux-arm64.zip
// (https://github.com/agentclientprotocol/registry/blob/main/antigravity-acp/agent.json).
const archivePrefix = "agy-acp-server-"

// ReadStamp reads an archive's file name; ok is false where it is of another form.
func ReadStamp(file string) (s Stamp, ok bool) {
	rest, ok1 := strings.CutPrefix(file, archivePrefix)
	rest, ok2 := strings.CutSuffix(rest, ".zip")
	at := strings.LastIndexByte(rest, '-')
	if !ok1 || !ok2 || at < 0 {
		return Stamp{}, false
	}
	arch := rest[at+1:]
	rest = rest[:at]
	at = strings.LastIndexByte(rest, '-')
	if at <= 0 {
		return Stamp{}, false
	}
	goos := rest[at+1:]
	switch arch {
	case "arm64", "aarch64":
		arch = "aarch64"
	case "x86_64", "amd64", "x64":
		arch = "x86_64"
	default:
		return Stamp{}, false
	}
	switch goos {
	case "macos":
		goos = "darwin"
	case "linux", "darwin", "windows":
	default:
		return Stamp{}, false
	}
	return Stamp{Build: rest[:at], Platform: goos + "-" + arch}, true
}

// fileOf is the file name at the end of an address.
func fileOf(u *url.URL) string {
	name := path.Base(u.Path)
	if name == "." || name == "/" {
		return ""
	}
	return name
}

// Plain is an address without what may be secret in it: user, query, fragment.
func Plain(u *url.URL) string {
	c := *u
	c.User, c.RawQuery, c.ForceQuery, c.Fragment, c.RawFragment = nil, "", false, "", ""
	return c.String()
}

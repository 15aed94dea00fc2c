package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/jsonc"

	"acp-shim/internal/settings"
	"acp-shim/record"
)

// knownSecrets are those that the settings hold, or name: the bridge's token, the
// values of injected headers, and the secrets in the file of injected servers. A
// recorder hunts for them, wherever an agent or a tool may repeat them.
type knownSecrets struct {
	fixed [][]byte
	file  string

	mu    sync.Mutex
	size  int64
	mtime time.Time
	all   [][]byte // those of the file's earlier texts, too: a session may still have them
}

func newKnownSecrets(set *settings.Settings) *knownSecrets {
	k := &knownSecrets{file: expandHome(set.MCPConfig)}
	add := func(text string) {
		if v := settingsValue(text); v != "" {
			k.fixed = append(k.fixed, []byte(v))
			// A header's value has its scheme before it, as in "Bearer abc".
			if i := strings.LastIndexByte(v, ' '); i >= 0 {
				k.fixed = append(k.fixed, []byte(v[i+1:]))
			}
		}
	}
	add(set.BridgeToken)
	for _, h := range set.MCPHeaders {
		if _, value, ok := strings.Cut(h, "="); ok {
			add(value)
		}
	}
	for _, x := range append(append([]string{set.Bridge}, set.MCP...), set.MCPStdio...) {
		k.fixed = append(k.fixed, record.Secrets([]byte(x))...)
	}
	k.all = k.fixed
	return k
}

// settingsValue is what a setting's env:VAR or file:PATH stands for; see
// rewrite.InjectOptions, which tells what is wrong with it.
func settingsValue(text string) string {
	if name, ok := strings.CutPrefix(text, "env:"); ok {
		return os.Getenv(name)
	}
	if path, ok := strings.CutPrefix(text, "file:"); ok {
		b, err := readSmall(expandHome(path))
		if err != nil {
			return ""
		}
		return strings.TrimRight(string(b), "\r\n")
	}
	return text
}

// readSmall reads a file of settings.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 16<<20 {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(filepath.Clean(path))
}

// list is called by the recorder with every batch that it writes. The file is
// looked at each time, since it may change while the shim runs.
func (k *knownSecrets) list() [][]byte {
	if k.file == "" {
		return k.all
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	info, err := os.Stat(k.file)
	if err != nil || info.Size() == k.size && info.ModTime().Equal(k.mtime) {
		return k.all
	}
	k.size, k.mtime = info.Size(), info.ModTime()
	b, err := readSmall(k.file)
	if err != nil {
		return k.all
	}
	all := slices.Clone(k.all)
	for _, s := range record.Secrets(jsonc.ToJSON([]byte(strings.TrimPrefix(string(b), "\ufeff")))) {
		if !slices.ContainsFunc(all, func(x []byte) bool { return string(x) == string(s) }) {
			all = append(all, s)
		}
	}
	k.all = all
	return k.all
}

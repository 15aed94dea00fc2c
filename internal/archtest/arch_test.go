// Package archtest holds the rules of the house that a compiler does not know.
package archtest

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const module = "acp-shim/"

// may says which packages of ours a package may import. Imports run one way:
// cmd, then the features, then proxy, then what it stands on.
var may = map[string][]string{
	"internal/wire":         {},
	"internal/agent":        {},
	"internal/stdio":        {},
	"internal/logs":         {"internal/textfile"},
	"internal/settings":     {"internal/textfile"},
	"internal/textfile":     {},
	"internal/lockfile":     {"internal/textfile"},
	"internal/state":        {"proxy", "usage", "internal/lockfile", "internal/textfile"},
	"internal/conversation": {},
	"internal/schema":       {"internal/trace", "record", "proxy", "internal/wire"},
	"internal/compare":      {"internal/trace", "record", "proxy", "usage"},
	"internal/show":         {"internal/trace", "record", "proxy", "internal/wire", "usage"},
	"internal/stats":        {"internal/trace", "record", "proxy", "internal/wire", "usage"},
	"internal/view":         {"internal/trace", "internal/show", "record", "proxy", "internal/wire", "usage"},
	"internal/exchange":     {"internal/trace", "internal/show", "record", "proxy", "internal/wire", "usage"},
	"replay":                {"record", "proxy", "internal/wire", "internal/trace"},
	"internal/trace":        {"record", "proxy", "internal/wire"},
	"internal/client":       {"internal/agent", "internal/wire"},
	"internal/probe":        {"internal/agent", "internal/client", "internal/wire", "proxy", "record", "usage"},
	"internal/status":       {"proxy", "internal/wire"},
	"internal/doctor":       {"internal/agent", "internal/client", "internal/editors", "internal/install", "internal/login", "internal/textfile", "internal/wire"},
	"internal/install":      {"internal/lockfile", "internal/textfile"},
	"internal/editors":      {"internal/textfile"},
	"internal/login":        {"proxy", "internal/wire", "internal/agent", "internal/textfile"},
	"internal/scripts":      {},
	"internal/faults":       {},
	"internal/archtest":     {},
	"internal/flat":         {},
	"proxy":                 {"internal/wire", "internal/agent"},
	"rewrite":               {"proxy", "internal/wire", "internal/textfile"},
	"cancelshim":            {"proxy", "internal/wire"},
	"usage":                 {"proxy", "internal/wire"},
	"record":                {"proxy", "internal/wire", "internal/textfile"},
	// The simulator shares no code with what it tests.
	"fixtures":        {},
	"fixtures/seeds":  {"fixtures"},
	"fixtures/sim":    {"fixtures", "internal/textfile"},
	"fixtures/bridge": {},
	"cmd/acp-shim": {"proxy", "rewrite", "cancelshim", "usage", "record", "fixtures", "fixtures/sim", "fixtures/bridge",
		"internal/agent", "internal/stdio", "internal/logs", "internal/install", "internal/editors", "internal/settings", "internal/state", "internal/conversation",
		"internal/trace", "internal/schema", "internal/compare", "internal/show", "internal/stats", "internal/view", "internal/exchange", "replay",
		"internal/client", "internal/login", "internal/probe", "internal/status", "internal/doctor"},
}

// bounds is how many lines a file has at the most.
const bounds = 400

func TestImportsRunOneWay(t *testing.T) {
	seen := map[string]bool{}
	walk(t, func(dir, path string) {
		seen[dir] = true
		allowed, ok := may[dir]
		if !ok {
			t.Errorf("%s: the package is not in the table of this test", dir)
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, imp := range f.Imports {
			name := strings.Trim(imp.Path.Value, `"`)
			if !strings.HasPrefix(name, module) {
				continue
			}
			name = strings.TrimPrefix(name, module)
			if name == dir && strings.HasSuffix(path, "_test.go") {
				continue
			}
			found := false
			for _, a := range allowed {
				found = found || a == name
			}
			if !found && !strings.HasSuffix(path, "_test.go") {
				t.Errorf("%s imports %s, which %s must not know", path, name, dir)
			}
		}
	})
	for dir := range may {
		if !seen[dir] {
			t.Errorf("%s is in the table and not in the tree", dir)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	walk(t, func(_, path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), "\n"); n > bounds {
			t.Errorf("%s has %d lines; split it by nouns", path, n)
		}
	})
}

// walk calls f for every Go file of the module.
func walk(t *testing.T, f func(dir, path string)) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && rel != "." || strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && rel != "deps_tools.go" {
			f(filepath.ToSlash(filepath.Dir(rel)), path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

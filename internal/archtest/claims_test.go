package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func readFile(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// rows are the cells of a Markdown table's rows, of those with n cells.
func rows(text string, n int) (list [][]string) {
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if strings.HasPrefix(line, "| ") && len(cells) == n {
			list = append(list, cells)
		}
	}
	return list
}

// TestClaimsHaveTests: each claim of SECURITY.md names tests, and each of them is
// where it says, in the directory that is named before it.
func TestClaimsHaveTests(t *testing.T) {
	_, claims, _ := strings.Cut(readFile(t, "SECURITY.md"), "## What holds")
	claims, _, _ = strings.Cut(claims, "\n## ")
	list := rows(claims, 3)
	if len(list) < 10 {
		t.Fatalf("only %d claims were found", len(list))
	}
	for _, row := range list[1:] {
		dir, n := "", 0
		for _, m := range regexp.MustCompile("`([^`]+)`|\\b((?:Test|Fuzz)[A-Z]\\w+)").FindAllStringSubmatch(row[2], -1) {
			switch {
			case strings.HasSuffix(m[1], ".txt"):
				readFile(t, "cmd/acp-shim/testdata/script", m[1])
				n++
			case m[1] != "":
				dir = m[1]
			default:
				n++
				if !hasTest(t, dir, m[2]) {
					t.Errorf("%s: there is no %s in %s", row[0], m[2], dir)
				}
			}
		}
		if n == 0 {
			t.Errorf("%s: no test is named", row[0])
		}
	}
}

func hasTest(t *testing.T, dir, name string) bool {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("..", "..", dir, "*_test.go"))
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}

// simulated are files that stand for an agent, which has tools that are commands.
var simulated = []string{"fixtures/sim/process_unix.go", "fixtures/sim/process_other.go"}

// TestNoShell: the program hands nothing to a shell.
func TestNoShell(t *testing.T) {
	shells := []string{"sh", "bash", "dash", "zsh", "ksh", "fish", "csh", "env", "cmd", "cmd.exe", "powershell", "powershell.exe", "pwsh", "wsl"}
	used := map[string]bool{}
	walk(t, func(dir, path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		file := dir + "/" + filepath.Base(path)
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fun, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Command", "CommandContext", "Exec", "ForkExec", "StartProcess", "LookPath"}, fun.Sel.Name) {
				return true
			}
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					lit, ok := n.(*ast.BasicLit)
					if !ok || lit.Kind != token.STRING {
						return true
					}
					word, _ := strconv.Unquote(lit.Value)
					if slices.Contains(shells, filepath.Base(word)) || word == "-c" || strings.EqualFold(word, "/c") {
						used[file] = true
						if !slices.Contains(simulated, file) {
							t.Errorf("%s starts %q", file, word)
						}
					}
					return true
				})
			}
			return true
		})
	})
	for _, file := range simulated {
		if !used[file] {
			t.Errorf("%s starts no shell: take it off the list", file)
		}
	}
}

// bySystem are the files that ask on which system they run, and may: what they do is
// the same everywhere but for a word or a mode. Everything else that differs is in
// files by system.
var bySystem = map[string]string{
	"cmd/acp-shim/doctor_result.go":  "says which it is",
	"cmd/acp-shim/report_text.go":    "says which it is",
	"cmd/acp-shim/run.go":            "no standby on Windows",
	"cmd/acp-shim/setup.go":          "how words are quoted",
	"cmd/acp-shim/view_open.go":      "the name of the opener",
	"fixtures/sim/login.go":          "the name of the opener",
	"internal/agent/find.go":         "where agents lie",
	"internal/agent/image.go":        "what an image's name is",
	"internal/agent/marks.go":        "case of variables' names",
	"internal/agent/places.go":       "what can be executed",
	"internal/doctor/check_shim.go":  "modes",
	"internal/doctor/machine.go":     "says which it is",
	"internal/editors/machine.go":    "where configurations lie",
	"internal/install/name.go":       "which archive",
	"internal/install/root.go":       "where builds lie",
	"internal/install/verify.go":     "modes",
	"internal/login/browser.go":      "the name of the opener",
	"internal/login/catch.go":        "who catches",
	"internal/login/watch.go":        "who sees a browser",
	"internal/probe/family_other.go": "says what is not known",
	"internal/probe/gates_end.go":    "says what is not known",
}

func TestSystemsAreInFiles(t *testing.T) {
	found := map[string]bool{}
	walk(t, func(dir, path string) {
		file := dir + "/" + filepath.Base(path)
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok || s.Sel.Name != "GOOS" {
				return true
			}
			if x, ok := s.X.(*ast.Ident); !ok || x.Name != "runtime" {
				return true
			}
			found[file] = true
			if bySystem[file] == "" {
				t.Errorf("%s asks for runtime.GOOS; put what differs into files by system", file)
			}
			return true
		})
	})
	for file := range bySystem {
		if !found[file] {
			t.Errorf("%s does not ask any more: take it off the list", file)
		}
	}
}

// TestDependencies: every module that is asked for has its reason in ARCHITECTURE.md,
// in one version, and nothing is there that is not asked for.
func TestDependencies(t *testing.T) {
	_, table, _ := strings.Cut(readFile(t, "ARCHITECTURE.md"), "## Dependencies")
	reasons := map[string]bool{} // by the end of a module's path
	for _, row := range rows(table, 2) {
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[0], -1) {
			reasons[m[1]] = len(row[1]) > 3
		}
	}
	asked := map[string]bool{}
	for _, file := range []string{"go.mod", "e2e/go.mod", "bench/go.mod"} {
		for _, m := range regexp.MustCompile(`(?m)^(?:require )?\s*([\w./-]+\.[\w./-]+) v\S+$`).FindAllStringSubmatch(readFile(t, file), -1) {
			asked[m[1]] = true
			ok := false
			for end := range reasons {
				ok = ok || reasons[end] && (m[1] == end || strings.HasSuffix(m[1], "/"+end))
			}
			if !ok {
				t.Errorf("%s asks for %s, and ARCHITECTURE.md does not say why", file, m[1])
			}
		}
	}
	if len(asked) < 10 {
		t.Fatalf("only %d modules were found", len(asked))
	}
	for end := range reasons {
		ok := false
		for path := range asked {
			ok = ok || path == end || strings.HasSuffix(path, "/"+end)
		}
		if !ok {
			t.Errorf("ARCHITECTURE.md names %s, which nobody asks for", end)
		}
	}
}

package login

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"acp-shim/internal/agent"
)

// What the browser notes before an address: whether a real one was started.
const (
	noteGiven  = "given"
	noteOpened = "opened"
)

// IsBrowser tells that the program was started as the browser of an agent.
func IsBrowser(arg0 string) bool {
	switch strings.TrimSuffix(filepath.Base(arg0), ".exe") {
	case browserName, openerName:
		return os.Getenv(envNotes) != ""
	}
	return false
}

// BrowserMain is the program as a browser: it notes what it was given, and starts the
// one that was set before, or the system's. Its exit code is that of a browser that
// could be started: who asked must not think that the login has failed where there
// is none.
func BrowserMain(args []string) int {
	notes := os.Getenv(envNotes)
	target := strings.Join(args[1:], " ")
	note(notes, noteGiven, target)
	cmd := theBrowser(args)
	if cmd == nil {
		return 0
	}
	cmd.Env = without(os.Environ(), filepath.Dir(filepath.Dir(notes)))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, os.Stderr
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return 0
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			return 0 // as xdg-open where there is no display
		}
	case <-time.After(2 * time.Second):
		// A browser that stays is one that was started.
	}
	note(notes, noteOpened, target)
	return 0
}

// note writes a line that is whole or not there. Only login pages are noted.
func note(path, word, target string) {
	if _, ok := Find([]byte(target)); !ok {
		return
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", word, target)
}

// theBrowser is the real one, nil where there is none. As xdg-open it is the next
// of that name; as BROWSER the one that was set, else the system's opener.
func theBrowser(args []string) *exec.Cmd {
	dir := filepath.Dir(filepath.Dir(os.Getenv(envNotes)))
	name := filepath.Base(args[0])
	if set := os.Getenv(envSet); set != "" && name != openerName {
		return setBrowser(set, args[1:])
	}
	opener := openerName
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if name != openerName && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil // xdg-open would start a text browser in nobody's terminal
	}
	for _, at := range filepath.SplitList(os.Getenv("PATH")) {
		if at == dir || !filepath.IsAbs(at) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(at, opener)); err == nil {
			return exec.Command(path, args[1:]...)
		}
	}
	return nil
}

// setBrowser is the first usable one of a BROWSER: a list, of which each may have %s for
// the address.
func setBrowser(list string, args []string) *exec.Cmd {
	for _, line := range filepath.SplitList(list) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		path, err := exec.LookPath(words[0])
		if err != nil {
			continue
		}
		rest, named := words[1:], false
		for i, w := range rest {
			if strings.Contains(w, "%s") {
				rest[i], named = strings.ReplaceAll(w, "%s", strings.Join(args, " ")), true
			}
		}
		if !named {
			rest = append(rest, args...)
		}
		return exec.Command(path, rest...)
	}
	return nil
}

// without is the environment as it was before the agent got ours.
func without(env []string, dir string) []string {
	var list []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case envNotes, envSet, agent.EnvRun, agent.EnvProc, agent.EnvDepth:
			// Without its marks a browser is not ended with the agent's tree.
			continue
		case "BROWSER":
			if value = os.Getenv(envSet); value == "" {
				continue
			}
		case "PATH":
			value = strings.TrimPrefix(value, dir+string(filepath.ListSeparator))
		}
		list = append(list, name+"="+value)
	}
	return list
}

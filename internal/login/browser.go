package login

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"acp-shim/internal/agent"
)

// What the browser notes before an address: whether a real one was started.
const (
	noteGiven  = "given"
	noteOpened = "opened"
)

// IsBrowser tells that the program was started as the browser of an agent. The name
// alone decides: a tool may have cleared the variables, and must not get an agent.
func IsBrowser(arg0 string) bool {
	switch strings.TrimSuffix(filepath.Base(arg0), ".exe") {
	case browserName, openerName:
		return true
	}
	return false
}

// BrowserMain is the program as a browser. Of what is no login page, it is as if it
// were not there: the browser that was set before, or the system's, takes its place.
// A login page it notes first. The exit code is then that of a browser that could be
// started: who asked must not think that the login has failed where there is none.
func BrowserMain(args []string) int {
	name, notes, set := filepath.Base(args[0]), os.Getenv(envNotes), os.Getenv(envSet)
	restore(set)
	cmd := theBrowser(name, set, args[1:])
	target := strings.Join(args[1:], " ")
	if _, ok := Find([]byte(target)); !ok {
		if cmd == nil {
			fmt.Fprintln(os.Stderr, name+": there is no browser to open it with")
			return notFound
		}
		return become(cmd)
	}
	note(notes, noteGiven, target)
	if cmd == nil {
		return 0
	}
	for _, mark := range []string{agent.EnvRun, agent.EnvProc, agent.EnvDepth} {
		os.Unsetenv(mark) // without them a browser is not ended with the agent's tree
	}
	cmd.Stderr = os.Stderr
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

// notFound is a shell's exit code for a command that is not there.
const notFound = 127

// note writes a line that is whole or not there, into notes that somebody waits for:
// others would stay for good, with the address in them.
func note(path, word, target string) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	for try := 0; errors.Is(err, fs.ErrNotExist) && try < 100; try++ {
		// They are made beside the request that has the page opened, by a disk that may
		// be slow; without this note nobody answers the request.
		time.Sleep(20 * time.Millisecond)
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintf(f, "%s %s\n", word, target)
}

// theBrowser is the real one, nil where there is none. As xdg-open it is the next
// of that name; as BROWSER the one that was set, else the system's opener.
func theBrowser(name, set string, args []string) *exec.Cmd {
	if set != "" && name != openerName {
		return setBrowser(set, args)
	}
	opener := openerName
	if runtime.GOOS == "darwin" {
		opener = "open"
	} else if name != openerName && os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return nil // xdg-open would start a text browser in nobody's terminal
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return nil
	}
	return exec.Command(path, args...)
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

// restore makes the environment what it was before the agent got ours, in which
// BROWSER was set.
func restore(set string) {
	if path, ok := os.LookupEnv("PATH"); ok {
		os.Setenv("PATH", plainPath(path))
	}
	if set != "" {
		os.Setenv("BROWSER", set)
	} else if filepath.Base(os.Getenv("BROWSER")) == browserName {
		os.Unsetenv("BROWSER")
	}
	os.Unsetenv(envNotes)
	os.Unsetenv(envSet)
}

// plainPath is a PATH without the directories of ours: also those of a shim around
// this one, and wherever a tool has put its own in front.
func plainPath(path string) string {
	sep := string(filepath.ListSeparator)
	return strings.Join(slices.DeleteFunc(strings.Split(path, sep), func(dir string) bool {
		if !filepath.IsAbs(dir) {
			return false
		}
		_, err := os.Lstat(filepath.Join(dir, browserName))
		return err == nil
	}), sep)
}

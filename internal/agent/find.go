package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Query says where an agent may be named, and who asks.
type Query struct {
	// Words are the command that was given after "--".
	Words []string
	// Flag, Env and Config are the values of --agent, ACP_SHIM_AGENT and the
	// config file: a path, or a command line. Empty means not given.
	Flag, Env, Config string
	// Args are further arguments for the agent, such as its own flags that the
	// shim was started with in its place.
	Args []string
	// Getenv looks up a variable; nil means os.Getenv.
	Getenv func(string) string
	// Exe is this binary; nothing that is the same file is an agent, but for a
	// command whose first argument is in SelfOK.
	Exe    string
	SelfOK []string
}

// Found is an agent's program, resolved once: it stays the same when a link on
// the way to it is moved later.
type Found struct {
	Path string
	Args []string
	// Env is to be added to the child's environment.
	Env []string
	// IsAgy is set if it is the Antigravity server, by its file name.
	IsAgy bool
	// Source says who named it: "--agent", "PATH".
	Source string
	// Tried is what was looked at before, with why it was not taken.
	Tried []string
	// Warnings are what will probably go wrong with it.
	Warnings []string
}

// GivenError is an agent that was named but cannot be used. Nothing else is
// looked for then: who names one does not want another.
type GivenError struct{ Source, Command, Words string }

func (e *GivenError) Error() string {
	return fmt.Sprintf("the agent that %s names (%s) cannot be used: %s", e.Source, e.Command, e.Words)
}

// NotFoundError says that no agent was named and none is in the usual places.
type NotFoundError struct{ Tried []string }

func (e *NotFoundError) Error() string {
	return "no agent was found; install the Antigravity server or name an agent with --agent or ACP_SHIM_AGENT; tried: " +
		strings.Join(e.Tried, "; ")
}

// DepthError says that shims are nested too deep.
type DepthError struct{ Depth int }

func (e *DepthError) Error() string {
	return fmt.Sprintf("this shim was started by %d others, one within the other: the agent that it finds is "+
		"probably a copy of the shim or a script that starts it, so that it would start itself again and again; "+
		"name the real agent with --agent or ACP_SHIM_AGENT", e.Depth)
}

// finder is a Query with what answering it needs.
type finder struct {
	Query
	goos  string
	home  string
	self  os.FileInfo
	tried []string
}

// Find finds the agent: the words after "--", --agent, ACP_SHIM_AGENT, the
// config file, PATH, the places where the Antigravity server is usually
// installed, Zed's own installation. Its error is a *GivenError, a
// *NotFoundError or a *DepthError.
func Find(q Query) (Found, error) { return find(q, runtime.GOOS) }

func find(q Query, goos string) (Found, error) {
	if q.Getenv == nil {
		q.Getenv = os.Getenv
	}
	f := &finder{Query: q, goos: goos}
	if d := Depth(q.Getenv); d > MaxDepth {
		return Found{}, &DepthError{d}
	}
	f.home = q.Getenv("HOME")
	if goos == "windows" {
		f.home = q.Getenv("USERPROFILE")
	}
	if q.Exe != "" {
		f.self, _ = os.Stat(q.Exe)
	}
	if len(q.Words) > 0 {
		return f.given("the command after --", strings.Join(q.Words, " "), q.Words)
	}
	f.try("the command after --: none given")
	for _, g := range []struct{ source, value, none string }{
		{"--agent", q.Flag, "not given"},
		{"ACP_SHIM_AGENT", q.Env, "not set"},
		{"the config file", q.Config, "names none"},
	} {
		if strings.TrimSpace(g.value) != "" {
			return f.line(g.source, g.value)
		}
		f.try("%s: %s", g.source, g.none)
	}
	for _, look := range []func() (string, string){f.onPath, f.installed, f.zed} {
		if path, source := look(); path != "" {
			return f.found(source, path, nil), nil
		}
	}
	return Found{}, &NotFoundError{f.tried}
}

func (f *finder) try(format string, args ...any) {
	f.tried = append(f.tried, fmt.Sprintf(format, args...))
}

// line takes a value that is a path or a command line: a path may have blanks
// in it, so what is there as a whole is a path.
func (f *finder) line(source, value string) (Found, error) {
	value = strings.TrimSpace(value)
	if whole := expandHome(value, f.home); strings.ContainsAny(whole, " \t") && f.hasSeparator(whole) {
		if st, err := os.Stat(whole); err == nil && !st.IsDir() {
			return f.given(source, value, []string{whole})
		}
	}
	words, err := splitWords(value, f.home, f.goos != "windows")
	if err != nil {
		return Found{}, &GivenError{source, value, err.Error()}
	}
	return f.given(source, value, words)
}

// given takes a command that somebody named: it is used or it is an error.
func (f *finder) given(source, command string, words []string) (Found, error) {
	fail := func(format string, args ...any) (Found, error) {
		return Found{}, &GivenError{source, command, fmt.Sprintf(format, args...)}
	}
	if len(words) == 0 || words[0] == "" {
		return fail("it is empty")
	}
	name := expandHome(words[0], f.home)
	if f.home == "" && (name == "~" || strings.HasPrefix(name, "~/")) {
		return fail("there is no home directory (HOME is not set) to replace the ~ with")
	}
	path, why := name, ""
	if !f.hasSeparator(name) {
		if path, why = f.lookPath(name, len(words) > 1 && slices.Contains(f.SelfOK, words[1])); path == "" {
			if isFile(name) {
				why += fmt.Sprintf(": did you mean .%c%s?", filepath.Separator, name)
			}
			return fail("%s", why)
		}
	}
	switch verdict, why := f.check(path); verdict {
	case isMissing:
		return fail("not found%s", nearest(path))
	case isSelf:
		if len(words) < 2 || !slices.Contains(f.SelfOK, words[1]) {
			return fail("it is this shim itself")
		}
		// Whatever it is called, it is not the server.
		real, _ := f.pin(path)
		return Found{Path: real, Args: append(words[1:len(words):len(words)], f.Args...), Source: source, Tried: f.tried}, nil
	case isUnusable:
		return fail("%s", why)
	}
	return f.found(source, path, words[1:]), nil
}

// found pins a program and puts together how it is to be started.
func (f *finder) found(source, path string, args []string) Found {
	real, isAgy := f.pin(path)
	r := Found{Path: real, IsAgy: isAgy, Source: source, Tried: f.tried}
	r.Args = append(slices.Clone(args), f.Args...)
	if !isAgy {
		return r
	}
	// The registry starts it with --uid= on Linux; without it, a host that lacks
	// the group nobody sees it abort before it reads its stdin.
	if f.goos == "linux" && !slices.ContainsFunc(r.Args, func(a string) bool {
		return a == "--uid" || strings.HasPrefix(a, "--uid=")
	}) {
		r.Args = append(r.Args, "--uid=")
	}
	f.harness(&r, path)
	return r
}

// pin makes a path absolute and follows its links. Only the server's own last
// link is followed: programs such as a Python environment's interpreter or a
// version manager's stand-ins go by the name that they are called by.
func (f *finder) pin(path string) (string, bool) {
	abs, err := filepath.Abs(path)
	if err != nil {
		abs = path
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		real = abs
	}
	if isServer(abs) || isServer(real) {
		return real, true
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs)), false
	}
	return abs, false
}

func isServer(path string) bool {
	return strings.HasPrefix(strings.ToLower(filepath.Base(path)), "agy_acp_server")
}

// harnessEnv is where the server looks for its harness if it is not beside it.
// It takes "beside" by the path that it was started with, without following
// links, and fails session/new with -32603 when there is none.
const harnessEnv = "ANTIGRAVITY_HARNESS_PATH"

func (f *finder) harness(r *Found, given string) {
	name := "localharness_external"
	if f.goos == "windows" {
		name += ".exe"
	}
	if f.Getenv(harnessEnv) != "" || isFile(filepath.Join(filepath.Dir(r.Path), name)) {
		return
	}
	abs, err := filepath.Abs(given)
	if err == nil {
		beside := filepath.Join(filepath.Dir(abs), name)
		if real, err := filepath.EvalSymlinks(beside); err == nil && isFile(real) {
			r.Env = append(r.Env, harnessEnv+"="+real)
			return
		}
	}
	r.Warnings = append(r.Warnings, fmt.Sprintf("%s is not beside %s and %s is not set: the agent will fail to make sessions",
		name, r.Path, harnessEnv))
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/record"
)

// searchCmd finds text in captures.
type searchCmd struct {
	Pattern string   `arg:"" help:"A regular expression (RE2)."`
	Path    []string `arg:"" help:"Captures, or directories with captures; - is standard input."`
	Method  []string `placeholder:"GLOB" help:"Only in these methods, kinds of update or events."`
	Session string   `placeholder:"PREFIX" help:"Only in this session."`
	Ignore  bool     `short:"i" name:"ignore-case" help:"Letters match their other case, too."`
	Names   bool     `short:"l" name:"files-with-matches" help:"Print the names of the files only."`
	JSON    bool     `name:"json" help:"Print a JSON object a line."`
}

// errEnough ends the search in a file of which the name is all that is wanted.
var errEnough = errors.New("one place is enough")

func (c searchCmd) Run() error {
	pattern := c.Pattern
	if c.Ignore {
		pattern = "(?i:" + pattern + ")"
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("the pattern is no regular expression: %w", err)
	}
	filter := show.Filter{Methods: c.Method, Session: c.Session}
	wanted, err := filter.Compile()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(stdout, 64<<10)
	defer out.Flush()
	l := newLayout(out, true, false)
	found, trouble := false, false
	in := func(path string, entries func() error) {
		if err := entries(); err != nil && !errors.Is(err, errEnough) {
			out.Flush()
			complain(fmt.Errorf("%s", shown(err.Error())))
			trouble = true
		}
	}
	for _, path := range c.Path {
		err := capturesIn(path, func(path string) {
			s := &show.Search{Pattern: re}
			in(path, func() error {
				return records(captures([]string{path}, false), &damage{}, func(r *trace.Record) error {
					f := s.In(r)
					if f == nil || !wanted(r) {
						return nil
					}
					found = true
					switch {
					case c.Names:
						l.write(shown(path))
						return errEnough
					case c.JSON:
						line := show.NewLine(r, false)
						line.File, line.Match = path, f
						return printJSON(out, line)
					}
					l.found(path, r, f, re)
					return l.err
				})
			})
		})
		if err != nil {
			in(path, func() error { return err })
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	switch {
	case trouble:
		return exitCode(2)
	case !found:
		return exitCode(1) // as grep has it
	}
	return nil
}

// capturesIn calls each for path, or for every capture below it. What is named
// must be a capture, what else lies in a directory need not.
func capturesIn(path string, each func(path string)) error {
	info, err := os.Stat(path)
	if path == fromStdin || err == nil && !info.IsDir() {
		each(path)
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for captures: %w", err)
	}
	return filepath.WalkDir(path, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			complain(errors.New(shown(err.Error())))
			return nil
		}
		if e.Type().IsRegular() && looksLikeCapture(path) {
			each(path)
		}
		return nil
	})
}

// looksLikeCapture reads a little of a file only: there may be large ones of all
// kinds in a directory.
func looksLikeCapture(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b := make([]byte, 512)
	n, _ := io.ReadFull(f, b)
	text := string(b[:n])
	switch {
	case strings.HasPrefix(text, "\x28\xb5\x2f\xfd"): // zstd
	case strings.HasPrefix(text, "{") && (strings.Contains(text, `"acp-shim-capture"`) || strings.Contains(text, `"seq":`)):
	default:
		return false
	}
	c, err := record.Open(path)
	if err != nil {
		return false
	}
	return c.Close() == nil
}

// found prints a place: where, when, and the gist with what was found in it, or
// else the text around it.
func (l *layout) found(path string, r *trace.Record, f *show.Found, re *regexp.Regexp) {
	from, arrow, to := ends(r)
	name := methodCell(&show.Row{Record: r, Count: 1})
	where := fmt.Sprintf("%s:%d", shown(path), r.Seq)
	l.seq = max(l.seq, show.Width(where))
	left := show.Pad(where, l.seq) + fmt.Sprintf("%9.3f  %6s %s %-8s ", r.T.Seconds(), from, arrow, to) + show.Pad(name, l.method) + " "
	room := max(l.width-show.Width(left), 40)
	before, match, after := f.Before, f.Match, f.After
	gist := show.Gist(r)
	// A gist that begins with what was found, or with little before it, says best
	// what it is about.
	at := re.FindStringIndex(gist)
	if at != nil {
		before, match, after = gist[:at[0]], gist[at[0]:at[1]], gist[at[1]:]
	} else if f.Path != "" {
		steps := strings.Split(f.Path, ".")
		left += show.Clean(steps[len(steps)-1]) + ": "
	}
	before, match, after = show.Clean(before), show.Clip(show.Clean(match), room), show.Clean(after)
	// The match is in sight, with what is before it up to half of the rest.
	rest := room - show.Width(match)
	if w := show.Width(before); w > rest/2 && w+show.Width(after) > rest {
		runes := []rune(before)
		for w > rest/2 && len(runes) > 0 {
			w -= show.Width(string(runes[0]))
			runes = runes[1:]
		}
		before = "…" + string(runes)
	}
	after = show.Clip(after, max(rest-show.Width(before), 0))
	l.write(l.paint(magenta, where) + l.paint(dim, strings.TrimPrefix(left, where)) + before + l.paint("1;"+red, match) + after)
}

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"acp-shim/internal/state"
)

// shown is a text as a terminal may have it. Ids come from clients, and what is
// in them could move the cursor, or show something else than there is.
func shown(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[n:]
	}
	return b.String()
}

// column is one of the table's; those that would be empty are left out, but for those
// that always stand.
type column struct {
	name   string
	of     func(e state.Entry) string
	always bool
}

func printSessions(w io.Writer, list []state.Entry, now time.Time) error {
	columns := []column{
		{"SESSION", func(e state.Entry) string { return e.ID }, true},
		{"AGENT'S ID", func(e state.Entry) string {
			if e.Real == e.ID {
				return ""
			}
			return e.Real
		}, false},
		{"AGENT", func(e state.Entry) string { return agentText(e) }, true},
		{"HOME", func(e state.Entry) string { return homeText(e.Place) }, true},
		{"CWD", func(e state.Entry) string { return tilde(e.Cwd) }, false},
		{"MODEL", func(e state.Entry) string { return e.Model }, true},
		{"MODE", func(e state.Entry) string { return e.Mode }, true},
		{"OPTIONS", optionsText, false},
		{"LAST USE", func(e state.Entry) string { return ago(now.Sub(e.Used)) }, true},
		{"IN USE BY", func(e state.Entry) string { return e.Owner }, false},
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var used []column
	var names []string
	for _, c := range columns {
		for _, e := range list {
			if c.always || c.of(e) != "" {
				used, names = append(used, c), append(names, c.name)
				break
			}
		}
	}
	fmt.Fprintln(out, strings.Join(names, "\t"))
	for _, e := range list {
		var cells []string
		for _, c := range used {
			cells = append(cells, cmp.Or(shown(c.of(e)), "-"))
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	return out.Flush()
}

func orUnknown(name string) string { return cmp.Or(name, "unknown") }

// agentText is what the agent calls itself, else the name under which it is kept.
func agentText(e state.Entry) string { return cmp.Or(e.Called, orUnknown(e.Agent)) }

func homeText(p state.Place) string { return orUnknown(tilde(p.Home)) }

func optionsText(e state.Entry) string {
	var list []string
	for _, o := range e.Options {
		value := o.Value
		var text string
		if json.Unmarshal([]byte(value), &text) == nil {
			value = text
		}
		list = append(list, o.ID+"="+value)
	}
	return strings.Join(list, " ")
}

// tilde shortens a path in the user's home.
func tilde(path string) string {
	home, err := os.UserHomeDir()
	if err != nil || path == "" || home == "/" {
		return path
	}
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok {
		return filepath.Join("~", rest)
	}
	if path == home {
		return "~"
	}
	return path
}

// tildes shortens the paths in the user's home that a text has in it.
func tildes(text string) string {
	home, err := os.UserHomeDir()
	if err != nil || len(home) < 2 {
		return text
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, home)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		begins := before == "" || strings.ContainsRune(" \"(:", last) // a shell knows no ~ in quotes, or behind a flag's =
		ends := after == "" || next == filepath.Separator || strings.ContainsRune(" \"'),:;", next)
		if begins && ends {
			b.WriteByte('~')
		} else {
			b.WriteString(home)
		}
		text = after
	}
}

// ago is how long something is past, in words.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	}
	return fmt.Sprintf("%d days ago", d/(24*time.Hour))
}

// sessionJSON is a session as programs get it.
type sessionJSON struct {
	ID string `json:"id"`
	// AgentID is the agent's id, also where it is the same.
	AgentID string                     `json:"agentId"`
	Agent   string                     `json:"agent,omitempty"`
	Home    string                     `json:"home,omitempty"`
	Cwd     string                     `json:"cwd,omitempty"`
	Model   string                     `json:"model,omitempty"`
	Mode    string                     `json:"mode,omitempty"`
	Options map[string]json.RawMessage `json:"options,omitempty"`
	LastUse time.Time                  `json:"lastUse"`
	InUse   bool                       `json:"inUse"`
	PID     int                        `json:"pid,omitempty"`
}

func printSessionsJSON(w io.Writer, list []state.Entry) error {
	all := []sessionJSON{}
	for _, e := range list {
		s := sessionJSON{ID: e.ID, AgentID: e.Real, Agent: cmp.Or(e.Called, e.Agent), Home: e.Home, Cwd: e.Cwd,
			Model: e.Model, Mode: e.Mode, LastUse: e.Used.UTC().Truncate(time.Second), InUse: e.Owner != ""}
		s.PID, _ = strconv.Atoi(strings.TrimPrefix(e.Owner, "pid ")) // not every owner says its pid
		for _, o := range e.Options {
			if s.Options == nil {
				s.Options = map[string]json.RawMessage{}
			}
			s.Options[o.ID] = json.RawMessage(o.Value)
		}
		all = append(all, s)
	}
	return printPretty(w, all)
}

// escaped writes what a terminal should not have, and JSON allows, as \u.
func escaped(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

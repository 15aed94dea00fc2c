package replay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Difference is one way in which a frame's params are not the recorded ones.
type Difference struct {
	// Path leads to the value: "prompt[0].text". It is "params" for all of them.
	Path string `json:"path"`
	// Recorded and Got are its JSON texts, shortened, "" where it is not there.
	Recorded string `json:"recorded,omitempty"`
	Got      string `json:"got,omitempty"`
}

func (d Difference) String() string {
	switch {
	case d.Recorded == "":
		return fmt.Sprintf("%s is %s and was not there", d.Path, d.Got)
	case d.Got == "":
		return fmt.Sprintf("%s is not there and was %s", d.Path, d.Recorded)
	}
	return fmt.Sprintf("%s is %s and was %s", d.Path, d.Got, d.Recorded)
}

// compare tells how params differ from a block's, up to a number of differences.
func (s *Script) compare(b *block, recorded []byte, a ask, limit int) []Difference {
	c := comparison{limit: limit}
	cwd := b.cwd
	if cwd == "" {
		cwd = s.cwds(b.session)
	}
	if a.cwd == "" {
		cwd = "" // paths are compared as they are
	}
	c.values("", normalised(b.method, recorded, cwd), normalised(a.method, a.params, a.cwd))
	return c.list
}

// cwds is the directory that a session was recorded in.
func (s *Script) cwds(session string) string {
	for _, method := range [...]string{"session/new", "session/load", "session/resume"} {
		for _, p := range [...]place{{session, method}, {nowhere, method}} {
			g := s.index[p]
			if session == nowhere || g == nil {
				continue
			}
			for _, i := range g.blocks {
				if b := s.blocks[i]; b.session == session && b.cwd != "" {
					return b.cwd
				}
			}
		}
	}
	return ""
}

type comparison struct {
	list  []Difference
	limit int
}

func (c *comparison) add(path string, recorded, got any) {
	if len(c.list) >= c.limit {
		return
	}
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		path = "params"
	}
	c.list = append(c.list, Difference{clipPath(path), jsonText(recorded), jsonText(got)})
}

func (c *comparison) values(path string, recorded, got any) {
	if len(c.list) >= c.limit {
		return
	}
	switch r := recorded.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			c.objects(path, r, g)
			return
		}
	case []any:
		if g, ok := got.([]any); ok {
			for i := range max(len(r), len(g)) {
				at := fmt.Sprintf("%s[%d]", path, i)
				switch {
				case i >= len(g):
					c.add(at, r[i], nil)
				case i >= len(r):
					c.add(at, nil, g[i])
				default:
					c.values(at, r[i], g[i])
				}
			}
			return
		}
	case string:
		if g, ok := got.(string); ok && alike(r, g) {
			return
		}
	default:
		if recorded == got {
			return
		}
	}
	c.add(path, recorded, got)
}

func (c *comparison) objects(path string, recorded, got map[string]any) {
	for _, k := range slices.Sorted(maps.Keys(recorded)) {
		if g, ok := got[k]; ok {
			c.values(path+"."+k, recorded[k], g)
		} else {
			c.add(path+"."+k, recorded[k], nil)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(got)) {
		if _, ok := recorded[k]; !ok {
			c.add(path+"."+k, nil, got[k])
		}
	}
}

const clipAt = 160

// jsonText is a value in few words. What stands for the working directory is
// shown as a dot.
func jsonText(v any) string {
	if v == nil {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(strings.ReplaceAll(string(b), `\u0000here`, "."))
}

func clip(s string) string {
	if len(s) <= clipAt {
		return s
	}
	n := clipAt
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// clipPath keeps the end of a path, which tells most: names are the client's
// and may be long.
func clipPath(s string) string {
	if len(s) <= clipAt {
		return s
	}
	n := len(s) - clipAt
	for n < len(s) && !utf8.RuneStart(s[n]) {
		n++
	}
	return "…" + s[n:]
}

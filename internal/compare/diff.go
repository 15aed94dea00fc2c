package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// Section is what differs in one respect.
type Section struct {
	Title string `json:"title"`
	Lines []Line `json:"lines"`
}

// Line is one difference.
type Line struct {
	// Mark is + for what is in the second capture only, - for what is in the first
	// only, ~ for what differs.
	Mark string `json:"mark"`
	Text string `json:"text"`
}

// Options say what is compared.
type Options struct {
	// Timing compares how long the agent takes as well.
	Timing bool
}

// Diff is what differs between two captures, nil if nothing does.
func Diff(a, b *Shape, opt Options) []Section {
	var list []Section
	add := func(title string, lines []Line) {
		if len(lines) > 0 {
			list = append(list, Section{title, lines})
		}
	}
	add("the agent and what it offers", factLines(a.facts, b.facts))
	titles := union(a.sets, b.sets)
	for _, title := range titles {
		add(title, setLines(a.sets[title], b.sets[title]))
	}
	for _, frame := range union(a.fields, b.fields) {
		// A kind of frame that only one of them has is told with the methods.
		// What initialize is answered with is told by its values.
		if a.fields[frame] != nil && b.fields[frame] != nil && frame != "agent result of "+acp.AgentMethodInitialize {
			add("members: "+frame, fieldLines(a.fields[frame], b.fields[frame]))
		}
	}
	add("order of the client's requests", align(a.requests, b.requests))
	list = append(list, turns(a.turns, b.turns)...)
	if a.usage != b.usage {
		mark := "-"
		if b.usage {
			mark = "+"
		}
		add("usage", []Line{{mark, "tokens are reported"}})
	}
	if opt.Timing {
		add("median times", timeLines(a.times, b.times))
	}
	return list
}

// turns compares the order of updates turn by turn. Turns that differ alike are told
// together.
func turns(a, b [][]string) (list []Section) {
	like := map[string]int{}
	for i := range max(len(a), len(b)) {
		var lines []Line
		switch {
		case i >= len(a):
			lines = []Line{{"+", "a turn with " + strings.Join(b[i], ", ")}}
		case i >= len(b):
			lines = []Line{{"-", "a turn with " + strings.Join(a[i], ", ")}}
		default:
			lines = align(a[i], b[i])
		}
		if len(lines) == 0 {
			continue
		}
		key := fmt.Sprint(lines)
		if at, ok := like[key]; ok {
			list[at].Title += fmt.Sprintf(", %d", i+1)
			continue
		}
		like[key] = len(list)
		list = append(list, Section{fmt.Sprintf("updates of turn %d", i+1), lines})
	}
	return list
}

func union[V any](a, b map[string]V) []string {
	all := map[string]V{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

func factLines(a, b map[string]string) (list []Line) {
	for _, path := range union(a, b) {
		x, inA := a[path]
		y, inB := b[path]
		switch {
		case !inA:
			list = append(list, Line{"+", path + " = " + y})
		case !inB:
			list = append(list, Line{"-", path + " = " + x})
		case x != y:
			list = append(list, Line{"~", path + ": " + x + " → " + y})
		}
	}
	return list
}

func setLines(a, b map[string]bool) (list []Line) {
	for _, v := range union(a, b) {
		switch {
		case !a[v]:
			list = append(list, Line{"+", v})
		case !b[v]:
			list = append(list, Line{"-", v})
		}
	}
	return list
}

func fieldLines(a, b map[string]map[string]bool) (list []Line) {
	told := ""
	for _, path := range union(a, b) {
		if told != "" && strings.HasPrefix(path, told) {
			continue // it came or went with what it is in
		}
		x, y := types(a[path]), types(b[path])
		switch {
		case x == y:
			continue
		case x == "":
			list = append(list, Line{"+", path + ": " + y})
		case y == "":
			list = append(list, Line{"-", path + ": " + x})
		default:
			list = append(list, Line{"~", path + ": " + x + " → " + y})
			continue
		}
		told = path + "."
	}
	return list
}

func types(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), " or ") }

// A difference in time is told where it is one that somebody would notice.
const (
	muchSlower = 2.0
	noticeable = 50 * time.Millisecond
)

func timeLines(a, b map[string]*sample) (list []Line) {
	for _, method := range union(a, b) {
		if a[method] == nil || b[method] == nil {
			continue
		}
		x, y := a[method].median(), b[method].median()
		if x, y := float64(max(x, 1)), float64(max(y, 1)); x/y < muchSlower && y/x < muchSlower {
			continue
		}
		if (x - y).Abs() < noticeable {
			continue
		}
		list = append(list, Line{"~", fmt.Sprintf("%s: %v → %v", method, x.Round(time.Millisecond), y.Round(time.Millisecond))})
	}
	return list
}

// align tells what has come and gone in an order of things, with what stands
// before it.
func align(a, b []string) (list []Line) {
	// What is the same at both ends is not looked at: what is left is short.
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	before := "the beginning"
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		before = a[0]
		a, b = a[1:], b[1:]
	}
	const most = 2_000
	if len(a)*len(b) > most*most {
		return []Line{{"~", fmt.Sprintf("behind %s all is in another order: %d and %d of them", before, len(a), len(b))}}
	}
	// The longest common sequence, from the ends.
	longest := make([][]int32, len(a)+1)
	for i := range longest {
		longest[i] = make([]int32, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	tell := func(mark, what string) {
		text := what + ", behind " + before
		if n := len(list); n > 0 && list[n-1].Mark == mark && strings.HasSuffix(list[n-1].Text, ", behind "+before) {
			list[n-1].Text = strings.TrimSuffix(list[n-1].Text, ", behind "+before) + ", " + text
			return
		}
		list = append(list, Line{mark, text})
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			before = a[i]
			i, j = i+1, j+1
		case j >= len(b) || i < len(a) && longest[i+1][j] >= longest[i][j+1]:
			tell("-", a[i])
			i++
		default:
			tell("+", b[j])
			j++
		}
	}
	return list
}

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
)

// result is all that was measured.
type result struct {
	Machine string  `json:"machine"`
	Rounds  int     `json:"rounds"`
	Tables  []table `json:"tables"`
	Goals   []goal  `json:"goals"`
	// Equal says how far apart equal programs came out: more than a few hundredths mean
	// that the machine was too busy.
	Equal string `json:"equal,omitempty"`
	// Missing says which peers were not measured, and why.
	Missing []string `json:"missing,omitempty"`
}

// table is figures of several programs.
type table struct {
	Title   string   `json:"title"`
	Columns []string `json:"columns"`
	Rows    []row    `json:"rows"`
	// wide tells that the cells are texts of their own and not ratios.
	by map[string]int
}

type row struct {
	Name  string `json:"name"`
	Cells []cell `json:"cells"`
}

// cell is the median of some values, with its quartiles, and a unit for those that
// are no ratios.
type cell struct {
	Low    float64 `json:"low,omitempty"`
	Median float64 `json:"median"`
	High   float64 `json:"high,omitempty"`
	Unit   string  `json:"unit,omitempty"`
	Spread bool    `json:"-"`
}

func (c cell) String() string {
	if c.Unit == "-" {
		return ""
	}
	f := "%.2f"
	switch {
	case c.Unit == "" && c.Median >= 100, c.Unit != "" && c.Median >= 10:
		f = "%.0f"
	case c.Median >= 10 || c.Unit != "":
		f = "%.1f"
	}
	s := fmt.Sprintf(f, c.Median)
	if c.Spread {
		s += fmt.Sprintf(" ("+f+"-"+f+")", c.Low, c.High)
	}
	if c.Unit != "" {
		s += " " + c.Unit
	}
	return s
}

// of is the cell of some values.
func of(v []float64, unit string) cell {
	if len(v) == 0 {
		return cell{Unit: "-"}
	}
	v = append([]float64(nil), v...)
	sort.Float64s(v)
	return cell{v[len(v)/4], v[len(v)/2], v[len(v)*3/4], unit, len(v) > 3}
}

func (t *table) add(name string, cells ...cell) { t.Rows = append(t.Rows, row{name, cells}) }

// at is the median in a table, 0 where it is not there.
func (t *table) at(name, column string) float64 {
	for k, c := range t.Columns {
		for _, r := range t.Rows {
			if c == column && r.Name == name && k < len(r.Cells) {
				return r.Cells[k].Median
			}
		}
	}
	return 0
}

// goal is a figure that was set out for.
type goal struct {
	What    string  `json:"what"`
	Reach   float64 `json:"reach"`
	Got     float64 `json:"got"`
	Least   bool    `json:"least,omitempty"` // Reach is the least, and not the most
	Unit    string  `json:"unit,omitempty"`
	Reached bool    `json:"reached"`
}

func (r *result) goal(what string, got, reach float64, unit string, least bool) {
	if got == 0 && unit != "" || got != got {
		return // it was not measured
	}
	r.Goals = append(r.Goals, goal{what, reach, got, least, unit, got <= reach != least || got == reach})
}

func (r *result) print(w io.Writer, form string) error {
	switch form {
	case "json":
		b, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(b, '\n'))
		return err
	case "md":
		r.text(w, " | ", "| ", " |")
	default:
		r.text(w, "  ", "", "")
	}
	return nil
}

func (r *result) text(w io.Writer, sep, begin, end string) {
	fmt.Fprintf(w, "%s, %d rounds\n", r.Machine, r.Rounds)
	for _, m := range r.Missing {
		fmt.Fprintf(w, "not measured: %s\n", m)
	}
	for _, t := range r.Tables {
		t.print(w, sep, begin, end)
	}
	if len(r.Goals) == 0 {
		return
	}
	fmt.Fprintf(w, "\nset out for, with the profile agy and recording (%s)\n\n", r.Equal)
	t := table{Columns: []string{"to reach", "reached"}}
	lines := [][]string{{"", "to reach", "got", ""}}
	for _, g := range r.Goals {
		sign, mark := "≤", "yes"
		if g.Least {
			sign = "≥"
		}
		if !g.Reached {
			mark = "no"
		}
		unit := ""
		if g.Unit != "" {
			unit = " " + g.Unit
		}
		lines = append(lines, []string{g.What, fmt.Sprintf("%s %.4g%s", sign, g.Reach, unit), fmt.Sprintf("%.3g%s", g.Got, unit), mark})
	}
	t.lines(w, lines, sep, begin, end)
}

func (t *table) print(w io.Writer, sep, begin, end string) {
	fmt.Fprintf(w, "\n%s\n\n", t.Title)
	lines := [][]string{append([]string{""}, t.Columns...)}
	for _, r := range t.Rows {
		line := []string{r.Name}
		for _, c := range r.Cells {
			line = append(line, c.String())
		}
		lines = append(lines, line)
	}
	t.lines(w, lines, sep, begin, end)
}

// lines prints cells in columns.
func (t *table) lines(w io.Writer, lines [][]string, sep, begin, end string) {
	width := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, c := range l {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	for n, l := range lines {
		out := begin
		for i := range width {
			c := ""
			if i < len(l) {
				c = l[i]
			}
			if i > 0 {
				out += sep
			}
			out += c + strings.Repeat(" ", width[i]-len([]rune(c)))
		}
		fmt.Fprintln(w, strings.TrimRight(out, " ")+end)
		if n == 0 && begin != "" {
			fmt.Fprintln(w, "|"+strings.Repeat("---|", len(width)))
		}
	}
}

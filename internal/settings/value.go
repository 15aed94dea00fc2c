package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

func join(list []string, sep string) string { return strings.Join(list, sep) }

func upper(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }

// set gives a row's field a value from its text.
func (r Row) set(field any, value string) error {
	switch f := field.(type) {
	case *[]string:
		if value == "" {
			return fmt.Errorf("needs a value: %s", r.Values())
		}
		*f = append(*f, value)
	case *bool:
		on, ok := map[string]bool{"on": true, "true": true, "1": true, "yes": true, "": true, "off": false, "false": false, "0": false, "no": false}[strings.ToLower(value)]
		if !ok {
			return fmt.Errorf("is on or off, not %q", value)
		}
		*f = on
	case *int:
		n, err := strconv.Atoi(value)
		if err != nil || n < r.min || n > r.max {
			return fmt.Errorf("is a whole number from %d to %d, not %q", r.min, r.max, value)
		}
		*f = n
	case *time.Duration:
		d, err := time.ParseDuration(value)
		if value == "0" {
			d, err = 0, nil
		}
		if err != nil {
			return fmt.Errorf("is a duration like 500ms, 2s or 1h, not %q", value)
		}
		if ms := int(d / time.Millisecond); ms < r.min || ms > r.max || d < 0 {
			return fmt.Errorf("is from %v to %v, not %v", time.Duration(r.min)*time.Millisecond, time.Duration(r.max)*time.Millisecond, d)
		}
		*f = d
	case *string:
		if r.kind == choice && !contains(r.values, value) {
			return fmt.Errorf("is one of %s, not %q%s", oneOf(r.values), value, meant(value, r.values, ""))
		}
		*f = value
	}
	return nil
}

// oneOf is a list as people write one.
func oneOf(list []string) string {
	n := len(list) - 1
	if n < 1 {
		return join(list, "")
	}
	return join(list[:n], ", ") + " and " + list[n]
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// meant names the nearest of the known names, where one is near.
func meant(name string, known []string, prefix string) string {
	best, distance := "", 1+max(2, len(name)/3)
	for _, k := range known {
		if d := editDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// editDistance is the number of letters to insert, delete, replace or swap.
func editDistance(a, b string) int {
	prev2, prev := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], prev2[j-2]+1)
			}
		}
		prev2, prev = prev, row
	}
	return prev[len(b)]
}

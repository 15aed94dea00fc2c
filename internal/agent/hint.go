package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// serverName is the base name of the Antigravity agent.
const serverName = "agy_acp_server.par"

// nearest says what is there instead of a file that is not, to be put after
// "not found".
func nearest(path string) string {
	dir, base := filepath.Split(path)
	dir = filepath.Clean(dir)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		for up := dir; ; up = filepath.Dir(up) {
			if st, err := os.Stat(up); err == nil {
				if !st.IsDir() {
					return fmt.Sprintf(": %s is not a directory", up)
				}
				return fmt.Sprintf(": there is no directory %s (%s is the last that is there)", dir, up)
			}
			if up == filepath.Dir(up) {
				return ""
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Sprintf(" (%s cannot be read)", dir)
	}
	// A third of the name may differ, or it is another name.
	best, least := "", len(base)/3+1
	for _, e := range entries {
		if d := distance(strings.ToLower(base), strings.ToLower(e.Name())); d < least {
			best, least = e.Name(), d
		}
	}
	if best == "" {
		return fmt.Sprintf(": %s has nothing of a similar name", dir)
	}
	return fmt.Sprintf(": did you mean %s?", filepath.Join(dir, best))
}

// serverInside is a hint for somebody who gave the agent's directory.
func serverInside(dir string) string {
	p := filepath.Join(dir, serverName)
	if st, err := os.Stat(p); err == nil && !st.IsDir() {
		return fmt.Sprintf("; did you mean %s?", p)
	}
	return ""
}

// distance is how many letters must be put in, taken out or changed (at most)
// to make one name of the other.
func distance(a, b string) int {
	if len(a) > 255 || len(b) > 255 {
		return 255
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

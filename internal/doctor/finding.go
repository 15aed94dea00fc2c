package doctor

import "fmt"

// Level is how bad a finding is.
type Level string

// The levels. A problem keeps something from working; a warning may, or is for
// somebody to know.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Finding is one line of the result.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	// Remedy says what to do.
	Remedy string `json:"remedy,omitempty"`
	// Details are more lines, such as the places that were looked at.
	Details []string `json:"details,omitempty"`
	// Fix puts it right. It is nil where that is for somebody to decide.
	Fix func() error `json:"-"`
	// Fixed tells that Fix was run, and FixError that it has failed.
	Fixed    bool   `json:"fixed,omitempty"`
	FixError string `json:"fixError,omitempty"`
}

// Fixable tells that Repair would do something.
func (f *Finding) Fixable() bool { return f.Fix != nil && f.Level != OK && !f.Fixed }

// Repair runs Fix.
func (f *Finding) Repair() {
	if !f.Fixable() {
		return
	}
	if err := f.Fix(); err != nil {
		f.FixError = err.Error()
		return
	}
	f.Fixed = true
}

func ok(format string, args ...any) Finding {
	return Finding{Level: OK, Text: fmt.Sprintf(format, args...)}
}

func warning(format string, args ...any) Finding {
	return Finding{Level: Warning, Text: fmt.Sprintf(format, args...)}
}

func problem(format string, args ...any) Finding {
	return Finding{Level: Problem, Text: fmt.Sprintf(format, args...)}
}

func (f Finding) remedy(format string, args ...any) Finding {
	f.Remedy = fmt.Sprintf(format, args...)
	return f
}

func (f Finding) fix(fix func() error) Finding {
	f.Fix = fix
	return f
}

func one(f Finding) []Finding { return []Finding{f} }

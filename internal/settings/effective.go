package settings

import (
	"fmt"
	"strings"
	"time"
)

// Effective is what one setting is, and who has said so.
type Effective struct {
	Name string `json:"name"`
	// Value is its text; that of a secret is "(set)", and "" where there is none.
	Value string `json:"value"`
	// Source is "default", "flag", "variable ACP_SHIM_…" or "config file".
	Source string `json:"source"`
}

// Effective are all settings as they are.
func (s *Settings) Effective() []Effective {
	var all []Effective
	for _, r := range Rows() {
		e := Effective{Name: r.Name, Value: r.textOf(s), Source: s.source[r.Name]}
		if e.Source == "" {
			e.Source = "default"
			if e.Value == "" {
				e.Value = r.Default
			}
		} else if r.Secret && e.Value != "" {
			e.Value = "(set)"
		}
		all = append(all, e)
	}
	return all
}

func (r Row) textOf(s *Settings) string {
	// Where each source has a place of its own, the first that says something counts.
	for _, at := range []func(*Settings) any{r.at, r.envAt, r.fileAt} {
		if at == nil {
			continue
		}
		if text := textAt(at(s)); text != "" {
			return text
		}
	}
	return ""
}

func textAt(field any) string {
	switch f := field.(type) {
	case *[]string:
		return strings.Join(*f, "; ")
	case *bool:
		if *f {
			return "on"
		}
		return "off"
	case *int:
		return fmt.Sprint(*f)
	case *time.Duration:
		if *f == 0 {
			return "0"
		}
		// 1h, and not 1h0m0s.
		text := f.String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		return text
	case *string:
		return *f
	}
	return ""
}

// says notes who has set something; what comes later has precedence.
func (s *Settings) says(name, source string) {
	if s.source == nil {
		s.source = map[string]string{}
	}
	s.source[name] = source
}

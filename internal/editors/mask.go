package editors

import (
	"regexp"
	"strings"
	"sync"
)

// secretValue finds a string behind a key by whose name it may be secret. The
// lines around a change are shown, and people post what they see.
var secretValue = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)("[^"\\]*(?:key|token|secret|passw|auth|cookie|credential)[^"\\]*"\s*:\s*)"((?:[^"\\]|\\.)*)"`)
})

// urlPassword finds user and password in an address.
var urlPassword = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(://)[^/@\s"]+@`) })

// secretFlag finds the value of a flag by whose name it may be secret.
var secretFlag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(-[a-z0-9_-]*(?:key|token|secret|passw|auth|cookie|credential)[a-z0-9_-]*=)[^\s"']+`)
})

// Mask makes secrets in what is shown of a configuration unreadable.
func Mask(text string) string {
	text = secretValue().ReplaceAllStringFunc(text, func(s string) string {
		if strings.HasSuffix(s, `""`) {
			return s
		}
		m := secretValue().FindStringSubmatch(s)
		return m[1] + `"***"`
	})
	text = secretFlag().ReplaceAllString(text, "${1}***")
	return urlPassword().ReplaceAllString(text, "${1}***@")
}

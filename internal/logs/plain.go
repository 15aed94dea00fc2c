package logs

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// plain is a message in one line that a terminal only shows. The handlers quote the
// values of a record, but the one for stderr takes its message as it is.
func plain(message string) string {
	if !strings.ContainsFunc(message, unprintable) {
		return message
	}
	quoted := strconv.Quote(message)
	// In colour the handler for stderr makes an escape code of \x1b again.
	return strings.NewReplacer(`\"`, `"`, `\x1b`, `\u001b`).Replace(quoted[1 : len(quoted)-1])
}

// plainAttr is what plain is for a message: in colour the handler for stderr does not
// quote escape codes in values.
func plainAttr(_ []string, a slog.Attr) slog.Attr {
	switch v := a.Value; v.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(plain(v.String()))
	case slog.KindAny:
		if _, level := v.Any().(slog.Level); !level {
			a.Value = slog.StringValue(plain(fmt.Sprint(v.Any())))
		}
	}
	a.Key = plain(a.Key)
	return a
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// escaped writes JSON lines in which what a terminal might obey is escaped: JSON has
// that for the first 32 characters only, and there are others.
type escaped struct{ io.Writer }

func (e escaped) Write(record []byte) (int, error) {
	out := make([]byte, 0, len(record))
	for i := 0; i < len(record); {
		r, n := utf8.DecodeRune(record[i:])
		switch {
		case r < 0x7f || unicode.IsPrint(r):
			out = append(out, record[i:i+n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += n
	}
	if _, err := e.Writer.Write(out); err != nil {
		return 0, err
	}
	return len(record), nil
}

package login

import (
	"strings"
	"testing"
	"time"
)

const page = "https://accounts.google.com/o/oauth2/v2/auth?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F127.0.0.1%3A4242%2F&state=s3cret&code_challenge=c"

func TestFind(t *testing.T) {
	for _, row := range []struct {
		name, line, url string
		port            int
	}{
		{"a line of its own", page, page, 4242},
		{"within a sentence", "Please visit " + page + ", then come back.", page, 4242},
		{"in quotes, behind another", `see https://example.com/ or "` + page + `"`, page, 4242},
		{"before a control character", page + "\x1b[0m", page, 4242},
		{"its encoded form", "https://x.example/a?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F%5B%3A%3A1%5D%3A99%2F", "https://x.example/a?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F%5B%3A%3A1%5D%3A99%2F", 99},
		{"a page that leads back to a server", "https://x.example/a?response_type=code&client_id=x&redirect_uri=https%3A%2F%2Fy.example%2F", "https://x.example/a?response_type=code&client_id=x&redirect_uri=https%3A%2F%2Fy.example%2F", 0},
		{"any link", "https://example.com/?redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2F", "", 0},
		{"a name in it", "https://user@x.example/a?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2F", "", 0},
		{"longer than any", page + strings.Repeat("x", maxURL), "", 0},
		{"nothing", "Opening in existing browser session.", "", 0},
		{"no https", "http" + page[5:], "", 0},
		{"a port that is none", "https://x.example/a?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F127.0.0.1%3A99999%2F", "https://x.example/a?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F127.0.0.1%3A99999%2F", 0},
	} {
		p, ok := Find([]byte(row.line))
		if p.URL != row.url || p.Port != row.port || ok != (p.URL != "") {
			t.Errorf("%s: %+v %v", row.name, p, ok)
		}
	}
	p, _ := Find([]byte(page))
	if got := p.Bare(); got != "https://accounts.google.com/o/oauth2/v2/auth" {
		t.Errorf("for a log it is %s", got)
	}
}

// TestFindInAHugeLine has a line of addresses alone take no time to speak of: lines
// are looked at where the loop waits.
func TestFindInAHugeLine(t *testing.T) {
	for _, line := range []string{strings.Repeat("https://", 1<<20), strings.Repeat("https://a.example/?redirect_uri= ", 1<<18)} {
		began := time.Now()
		if p, ok := Find([]byte(line)); ok {
			t.Errorf("found %+v", p)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	}
}

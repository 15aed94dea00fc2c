package record

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/wire"
)

// hostile are texts that would take a careless redactor minutes, or gigabytes.
var hostile = []string{
	"token=", "token='", "token: '${", `token=\\"`, "authorization: a b ", "authorization: ", "cookie: a ", "key=", "bearer ", "basic a",
	"?token=", "&code", "%3D", "%3Ftoken%3D", "http://", "http://a@", "eyJa.", "1//0", "-----BEGIN PRIVATE KEY-----", "PRIVATE KEY-----",
	"[", "{", `{"a":`, `{"token":`, `["--token",`, `[{"name":"token","value":`, `{"env":[`, "\\", `\u0074`, "--token ", "sk-", "curl -u a:", "<token>", "login a password ", "`token`:`", "api key: ", `Bearer "`, `{"grant_type":"x","code":`, `{"tokens":[`, "[redacted]", `{"method":"authenticate","params":{"_meta":`,
}

func TestRedactHostile(t *testing.T) {
	const size = 256 << 10
	for _, h := range hostile {
		text := strings.Repeat(h, size/len(h))
		for _, in := range []string{text, `{"text":` + wire.Quote(text) + `}`} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			got := Redact([]byte(in))
			took := time.Since(start)
			t.Logf("%q: %v", h, took)
			runtime.ReadMemStats(&after)
			if took > 3*time.Second {
				t.Errorf("%q again and again: %v", h, took)
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 20 {
				t.Errorf("%q again and again: %d MiB", h, used)
			}
			if wire.Valid([]byte(in)) && !wire.Valid(got) {
				t.Errorf("%q again and again: no JSON any more", h)
			}
		}
	}
}

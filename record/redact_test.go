package record

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"acp-shim/fixtures/seeds"
	"acp-shim/internal/wire"

	"github.com/google/go-cmp/cmp"
)

// In these tables the secret is between « and ». What is replaced by a URL's
// marker is between ‹ and ›.
func unmark(s string) (in, want string) {
	var a, b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "«‹")
		if i < 0 {
			a.WriteString(s)
			b.WriteString(s)
			break
		}
		end, marker, width := "»", Marker, len("«")
		if strings.HasPrefix(s[i:], "‹") {
			end, marker, width = "›", URLMarker, len("‹")
		}
		j := strings.Index(s[i:], end) + i
		a.WriteString(s[:i] + s[i+width:j])
		b.WriteString(s[:i] + marker)
		s = s[j+len(end):]
	}
	return a.String(), b.String()
}

var redactFrames = []struct{ name, frame string }{
	{"headers, a list", `{"method":"session/new","params":{"mcpServers":[{"type":"http","url":"http://h/","headers":[{"name":"x-bridge-token","value":"«s3cret»"},{"value":"«plain»","name":"X-Any"}]}]}}`},
	{"a name that is one, escaped", `{"a":{"x «\u0067hp_abcdef\u0067hijklmnopqrst»\n":1,"«ghp_abcdefghijklmnopqrst»":2}}`},
	{"headers, a map", `{"a":[{"headers":{"X-Any":"«v»","Y":["«w»","«x»"],"n":4}}]}`},
	{"headers, lines", `{"headers":["X-Any: «v»","Y=«w»","alone"]}`},
	{"headers, pairs of words", `{"headers":[["X-Any","«v»"],["Y","«w»"]]}`},
	{"headers, a string", `{"headers":"X-Api-Key: «abc»"}`},
	{"other names of headers", `{"http_headers":{"A":"«b»"},"requestHeaders":{"A":"«b»"}}`},
	{"env, a list", `{"method":"terminal/create","params":{"env":[{"name":"A","value":"«b»"}],"command":"env"}}`},
	{"env, a map", `{"env":{"PATH":"«/bin»","PORT":8080,"ON":true,"E":""}}`},
	{"env, lines", `{"env":["A=«b=c»","B"]}`},
	{"env, a word", `{"env":"production"}`},
	{"names", `{"token":"«a»","apiKey":"«a»","api_key":"«a»","api-key":"«a»","Authorization":"«Bearer a»","password":"«a»","secret":"«a»","client_secret":"«a»","access_token":"«a»","refresh_token":"«a»","id_token":"«a»","cookie":"«a»","set-cookie":"«a»","x-bridge-token":"«a»","x-api-key":"«a»","private_key":"«a»"}`},
	{"names within names", `{"githubToken":"«a»","AWS_SECRET_ACCESS_KEY":"«a»","db_password":"«a»","token2":"«a»","bearer":"«a»"}`},
	{"escaped names", `{"\u0074oken":"«a»","api\u005fkey":"«a»","toke\u006E":"«a»"}`},
	{"escaped values", `{"token":"«\u0061\"\\\/b»"}`},
	{"containers", `{"credentials":{"user":"«u»","pass":["«p»",{"x":"«y»","n":1}],"type":"basic"},"tokens":{"access_token":"«a»"}}`},
	{"counters", `{"totalTokens":12,"inputTokens":"12","max_tokens":4096,"tokenCount":7,"thought_tokens":3,"tokens":"many","token":12,"tokenLimit":"9k"}`},
	{"ids", `{"_meta":{"progressToken":"abc"},"nextPageToken":"abc","sessionId":"s","stopReason":"max_tokens"}`},
	{"described, not told", `{"api-key":{"provider":"google"},"properties":{"password":{"type":"string","description":"the password"}}}`},
	{"name and value", `{"options":[{"name":"GITHUB_TOKEN","value":"«a»"},{"value":"«b»","key":"api_key"},{"name":"Max token","value":"4"}]}`},
	{"authenticate", `{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"methodId":"k","_meta":{"any":"«a»","n":0,"deep":["«b»",{"c":"«d»"}],"t":true}}}`},
	{"authenticate, the other way round", `{"params":{"_meta":{"any":"«a»"}},"id":1,"method":"authenticate"}`},
	{"authenticate, escaped", `{"method":"authen\u0074icate","params":{"\u005fmeta":{"any":"«a»"}}}`},
	{"authenticate in a batch", `[{"method":"initialize","params":{"_meta":{"any":"b"}}},{"method":"authenticate","params":{"_meta":{"any":"«a»"}}}]`},
	{"another method", `{"method":"authenticated","params":{"_meta":{"any":"a"}}}`},
	{"flags", `{"command":"x","args":["--token","«a»","-v","--api-key=«b»","--password","--verbose","-H","X-Any: «c»","--env","A=«b»","-e","print(1)"]}`},
	{"acp-shim's own flags", `{"args":["--mcp-header","srv:X-Any=«c»","--bridge-token","«t»"]}`},
	{"bearer", `{"text":"sent Authorization: Bearer «abc.def» to it, and Bearer «xyz» too"}`},
	{"bearer, small", `{"text":"authorization: bearer «abc» and bearer «a1b2c3d4»; the bearer of news"}`},
	{"basic", `{"text":"Basic «dXNlcjpwYXNz» but Basic usage and Basic JavaScript"}`},
	{"headers in a text", `{"text":"curl -H \"Authorization: token «a1»\" -H 'X-Api-Key: «a»' -H 'Cookie: «sid=1; b=2»'\nSet-Cookie: «sid=1; Path=/»\nok"}`},
	{"known shapes", `{"text":"«sk-abcdefghij1234567890» «AIzaSyA1234567890abcdefghijklmnopqrstuvw» «ya29.a0AfH6SMBx-y_z.1» «ghp_abcdefghijklmnopqrst» «gho_abcdefghijklmnopqrst» «github_pat_11ABCDEFG0abcdefghij» «xoxb-1234567890-abc» «AKIAIOSFODNN7EXAMPLE» «1//0gabcdefghijk-l_m» «GOCSPX-abcdefghijkl»"}`},
	{"JWT", `{"text":"got «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_1» here"}`},
	{"PEM", `{"text":"-----BEGIN RSA PRIVATE KEY-----\n«MIIEpAIB\nAAKCAQ»\n-----END RSA PRIVATE KEY-----\nrest"}`},
	{"PEM, cut short", `{"text":"-----BEGIN PRIVATE KEY-----\n«MIIEpAIB\nAAKCAQ»"}`},
	{"shapes after escapes", `{"text":"a\n«sk-abcdefghij1234567890»\t«hf_abcdefghijklmnop1234» \u001b[31m«ghp_abcdefghijklmnopqrst»\u001b[0m"}`},
	{"shapes as names", `{"«sk-abcdefghij1234567890»":1}`},
	{"no shapes", `{"text":"task-abcdefghij1234567890 sk-circle-fade-dot eyJhbGci AKIA asia xox- ya29 disk-1234567890abcdef"}`},
	{"URL, userinfo", `{"uri":"https://‹user:pass›@host/p@th","a":"see postgres://‹u:p›@db, ssh://git@h/r and https://h/@me"}`},
	{"URL, query", `{"u":"https://h/p?code=‹4/0Ab›&state=‹x›&token=‹a›&key=‹b›&access_token=‹c›&client_secret=‹d›&code_challenge=‹e›&code_challenge_method=S256&sig=‹f›&signature=‹g›&client_id=me&scope=all#id_token=‹h›&x=1"}`},
	{"URL, escaped", `{"u":"https:\/\/‹u:p›@h\/?token=‹a›\u0026x=1\u0026code=‹b›"}`},
	{"URL in HTML", `{"u":"<a href='https://h/?a=1&amp;code=‹b›&amp;c=2'>"}`},
	{"URL in a URL", `{"u":"https://h/?continue=http%3A%2F%2Flocalhost%3A1%2F%3Ftoken%3D‹abc›%26x%3D1%26state%3D‹def›&y=2"}`},
	{"URL, a log's", `{"text":"GET /callback?code=‹4/0A›&state=‹s› HTTP/1.1"}`},
	{"assignments", `{"text":"API_KEY=«abc» export TOKEN='«a b»' password: \"«p»\" x --token «abc» --client-secret=«abc»"}`},
	{"OAuth by a device", `{"device_code":"«abc»","a":{"deviceCode":"«abc»"},"u":"https://h/device?user_code=‹ABCD-EFGH›&x=1"}`},
	{"OAuth's code", `{"a":{"grant_type":"authorization_code","code":"«abc»"},"b":{"code":"«abc»","grant_type":"x"},"c":{"code":"E_NOENT"},"d":"{\"grant_type\":\"authorization_code\",\"code\":\"«abc»\"}"}`},
	{"no numbers of passwords", `{"password":1,"passwords":12345678,"password_min":12345678,"password":{"min":12345678},"password":-12345678,"token":12345678}`},
	{"lists of tokens", `{"tokens":["«Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1»","the","token","internationalization","Zq7Rk2"],"n":{"tokens":{"a":["Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1"],"token":"«x»"}}}`},
	{"auth with its type", `{"auth":{"type":"bearer","value":"«abc»"},"b":{"value":"«abc»","type":"apiKey"},"c":{"type":"basic","value":"abc"}}`},
	{"words before it", `{"text":"machine h login me password «abc»\nmachine h\n login me\n password «abc»\na password is; login with password foo <password>«abc»</password> <password> is <token>\ncurl -s -u admin:«abc» https://h; curl -u 'a:«b-c»' x; chown -u a:b; curl -u $USER:$PASS; curl -u admin x"}`},
	{"in backticks", `{"text":"API key: ` + "`«Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1»` and `api_key`: `«Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1»`, `token`: `string`, `api_key`: the key, `token` = «Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1». The API key: it is" + `"}`},
	{"bearer in quotes", `{"text":"Bearer \"«Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1»\" and Bearer \"token\" and \u001b[1mBearer \u001b[32m«Zq7Rk2Vt9Xw4Lm8Pn3Bc6Dj1»\u001b[0m"}`},
	{"JSON in a string", `{"rawInput":"{\"token\":\"«a»\",\"headers\":{\"X\":\"«b»\"},\"n\":1}"}`},
	{"JSON in JSON in a string", `{"a":"{\"b\":\"{\\\"apiKey\\\":\\\"«a»\\\",\\\"env\\\":[{\\\"name\\\":\\\"A\\\",\\\"value\\\":\\\"«b»\\\"}]}\"}"}`},
	{"a log with JSON", `{"text":"RAW WS MSG: {\"headers\":[{\"name\":\"X\",\"value\":\"«v»\"}]} done"}`},
	{"programs", `{"text":"const token = getToken(); type T = { token: string; apiKey?: Option<string> }; token=token, password=os.environ['X']; if (token == null) key=${KEY} token=$TOKEN secret: <your secret> Authorization=%q \"Authorization\": []string{x}"}`},
	{"quoted values", `{"text":"password=\"«%a9»\" password='«$2b$10$x»' secret=\"${X}\" token=\"$TOKEN\" pwd"}`},
	{"sentences", `{"text":"The token: it is secret. Passwords are hashed; a cookie: sweet. Keys and tokens, 5 tokens: 4096. monkey key value pairs"}`},
	{"space kept", " {\t\"token\" :\r \"«a»\" , \"n\" : 1.50e+3 } \r\n"},
}

func TestRedactFrames(t *testing.T) {
	for _, tt := range redactFrames {
		t.Run(tt.name, func(t *testing.T) {
			in, want := unmark(tt.frame)
			checkRedact(t, in, want)
		})
	}
}

// TestRedactNumbers: a password of digits stays a number as long as it was.
func TestRedactNumbers(t *testing.T) {
	checkRedact(t, `{"password":8273645192,"a":"{\"db_password\":4711}","passcode": 4711 }`,
		`{"password":1000000000,"a":"{\"db_password\":1000}","passcode": 1000 }`)
}

func checkRedact(t *testing.T, in, want string) {
	t.Helper()
	frame := []byte(in)
	got := Redact(frame)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("of %s\n(-want +got)\n%s", in, diff)
	}
	if string(frame) != in {
		t.Error("the frame itself was changed")
	}
	if in == want && len(in) > 0 && &got[0] != &frame[0] {
		t.Error("a clean frame was copied")
	}
	if again := Redact(got); !bytes.Equal(again, got) {
		t.Errorf("redacting again makes\n%s\nof\n%s", again, got)
	}
	if wire.Valid(frame) && !wire.Valid(got) {
		t.Errorf("no JSON any more: %s", got)
	}
}

var redactTexts = []struct{ name, text string }{
	{"shapes", "E1130 auth.cc:5] using «ghp_abcdefghijklmnopqrst»\n"},
	{"first in the line", "«sk-abcdefghij1234567890» is it"},
	{"header", "Authorization: Bearer «abc»\r\n"},
	{"header, other scheme", "Authorization: AWS4-HMAC-SHA256 «Credential=A/b, Signature=c»"},
	{"header, no scheme", "authorization: «abc»"},
	{"JSON cut short", `{"token":"«abcdef`},
	{"JSON cut short, in headers", `{"params":{"headers":[{"name":"X","value":"«ab\u0063»"},{"name":"Y","value":"«cd`},
	{"JSON cut short, authenticate", `{"method":"authenticate","params":{"_meta":{"a":"«b»","c":"«d`},
	{"JSON behind a word", `sending {"env":{"A":"«b»"}} and [["x"]] and {"token":"«c»"}`},
	{"login", "Please visit https://accounts.google.com/o/oauth2/auth?client_id=1&state=‹abc›&code_challenge=‹def›&redirect_uri=http%3A%2F%2Flocalhost to log in"},
	{"seen only when another is gone", `authorization:«token="abc def»`},
	{"flags", "exec /bin/agent --token=«abc» --verbose"},
	{"no secrets", "I1130 12:00:00 server.cc:12] session/prompt done in 5 ms, 12 tokens\n"},
	{"not UTF-8", "\xff token=«a\xfeb» \xff"},
	{"two JSON values", `{"a":1} {"password":"«x»"}`},
}

func TestRedactTexts(t *testing.T) {
	for _, tt := range redactTexts {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Count(tt.text, "«") > strings.Count(tt.text, "»") {
				tt.text += "»"
			}
			in, want := unmark(tt.text)
			got := string(RedactText([]byte(in)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("of %s\n(-want +got)\n%s", in, diff)
			}
			if again := string(RedactText([]byte(got))); again != got {
				t.Errorf("redacting again makes %s", again)
			}
			checkRedact(t, in, want)
		})
	}
}

// TestRedactLeavesPictures: in a megabyte of base64 anything may be found.
func TestRedactLeavesPictures(t *testing.T) {
	in := `{"type":"image","data":"` + strings.Repeat("iVBORw0K", 200) + "+1//0gabcdefghijkl+sk/AKIAIOSFODNN7EXAMPLE==" + `"}`
	checkRedact(t, in, in)
	short := `{"type":"text","data":"iVBORw0K+«1//0gabcdefghijkl»"}`
	a, b := unmark(short)
	checkRedact(t, a, b)
}

// secrets are random ones of every kind that is known by its looks.
func secrets(rng *rand.Rand) []string {
	const (
		upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		alnum = upper + "abcdefghijklmnopqrstuvwxyz0123456789"
		word  = alnum + "-_"
	)
	of := func(set string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[rng.IntN(len(set))]
		}
		return string(b)
	}
	return []string{
		"sk-" + of(alnum, 40) + "7", "sk-ant-api03-" + of(word, 60) + "7", "AIza" + of(word, 35), "ya29." + of(word, 60) + "x",
		"ghp_" + of(alnum, 36), "gho_" + of(alnum, 36), "github_pat_" + of(alnum, 22) + "_" + of(alnum, 59), "xoxb-" + of(alnum, 30),
		"eyJ" + of(alnum, 20) + "." + of(word, 40) + "." + of(word, 43), "AKIA" + of(upper, 16), "1//0" + of(word, 60), "GOCSPX-" + of(word, 28),
		"sk_live_" + of(alnum, 24), "glpat-" + of(word, 20), "npm_" + of(alnum, 36),
	}
}

// frames wraps a string in frames of every kind, at random depth.
func wrap(rng *rand.Rand, text string) string {
	quoted := wire.Quote(text)
	if rng.IntN(3) == 0 {
		quoted = escapeAll(rng, quoted)
	}
	for range rng.IntN(4) {
		switch rng.IntN(4) {
		case 0:
			quoted = `{"a":` + quoted + `,"b":[1,true]}`
		case 1:
			quoted = `["x",` + quoted + `]`
		case 2:
			quoted = `{ "content" : ` + quoted + " }"
		default:
			quoted = wire.Quote(`{"nested":` + quoted + `}`)
		}
	}
	return `{"jsonrpc":"2.0","method":"session/update","params":{"update":` + quoted + `}}`
}

// escapeAll writes some characters of a JSON string as escapes.
func escapeAll(rng *rand.Rand, quoted string) string {
	var b strings.Builder
	for i := 0; i < len(quoted); i++ {
		c := quoted[i]
		switch {
		case c == '\\':
			b.WriteString(quoted[i : i+2])
			i++
		case i == 0 || i == len(quoted)-1 || c >= 0x80 || rng.IntN(4) > 0:
			b.WriteByte(c)
		case c == '/':
			b.WriteString(`\/`)
		default:
			const hex = "0123456789abcdef"
			b.WriteString(`\u00` + string(hex[c>>4]) + string(hex[c&15]))
		}
	}
	return b.String()
}

// decodedStrings are all strings in a frame, those in nested JSON as well.
func decodedStrings(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	var b strings.Builder
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\n")
			if strings.HasPrefix(v, "{") {
				b.WriteString(decodedStrings(v) + "\n")
			}
		case []any:
			for _, x := range v {
				visit(x)
			}
		case map[string]any:
			for k, x := range v {
				b.WriteString(k + "\n")
				visit(x)
			}
		}
	}
	visit(v)
	return b.String()
}

// TestRedactNoneSurvives puts every kind of secret everywhere.
func TestRedactNoneSurvives(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	around := []string{"%", "it is %.", "a\n%\nb", "(%)", "\"%\"", "key=%", "x: %, y", "Authorization: Bearer %", "https://h/?token=%&a=b", "https://%@h/", "\t%", "{\"k\":\"%\"}"}
	for range 200 {
		for _, s := range secrets(rng) {
			text := strings.ReplaceAll(around[rng.IntN(len(around))], "%", s)
			in := wrap(rng, text)
			got := string(Redact([]byte(in)))
			if strings.Contains(decodedStrings(got), s) {
				t.Fatalf("%s\nis still in\n%s", s, got)
			}
			if !wire.Valid([]byte(got)) {
				t.Fatalf("no JSON any more: %s\nof %s", got, in)
			}
			if again := string(Redact([]byte(got))); again != got {
				t.Fatalf("redacting again makes\n%s\nof\n%s", again, got)
			}
			if line := "E1 " + text; strings.Contains(string(RedactText([]byte(line))), s) {
				t.Fatalf("%s\nis still in the text", line)
			}
		}
	}
}

// shapeOf is a frame's value without its strings and numbers.
func shapeOf(t *testing.T, b []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	var visit func(v any) any
	visit = func(v any) any {
		switch v := v.(type) {
		case string:
			return ""
		case json.Number:
			return 0
		case []any:
			for i := range v {
				v[i] = visit(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = visit(v[k])
			}
		}
		return v
	}
	return visit(v)
}

// FuzzRedact checks what holds for any bytes: valid JSON stays valid and of its
// shape, twice is once, the quick look at a frame never misses what the full
// one would replace, and outside of what was replaced nothing changes.
func FuzzRedact(f *testing.F) {
	for _, tt := range redactFrames {
		in, _ := unmark(tt.frame)
		f.Add([]byte(in))
	}
	for _, tt := range redactTexts {
		in, _ := unmark(tt.text + "»")
		f.Add([]byte(in))
	}
	for _, line := range seeds.Frames() {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		spans := frameSpans(in)
		full := splice(in, spans)
		got := Redact(in)
		if !bytes.Equal(got, full) {
			t.Errorf("the quick look missed what the full one finds: %q", full)
		}
		if again := Redact(got); !bytes.Equal(again, got) {
			t.Errorf("redacting again makes\n%q\nof\n%q", again, got)
		}
		if text := RedactText(in); !bytes.Equal(RedactText(text), text) {
			t.Errorf("redacting a text again makes\n%q\nof\n%q", RedactText(text), text)
		}
		rest := got
		at := 0
		for _, s := range spans {
			keep := in[at:s.from]
			if !bytes.HasPrefix(rest, keep) || !bytes.HasPrefix(rest[len(keep):], []byte(s.text)) {
				t.Fatalf("more changed than was to be replaced: %q", got)
			}
			rest, at = rest[len(keep)+len(s.text):], s.to
		}
		if !bytes.Equal(rest, in[at:]) {
			t.Errorf("the end changed: %q", got)
		}
		if wire.Valid(in) {
			if !wire.Valid(got) {
				t.Fatalf("no JSON any more: %q", got)
			}
			// A name that was itself a secret is not compared.
			if named := regexp.MustCompile(`\[redacted\][^"]*"\s*:`); json.Valid(in) && !named.Match(got) {
				if !reflect.DeepEqual(shapeOf(t, in), shapeOf(t, got)) {
					t.Errorf("its shape changed: %q became %q", in, got)
				}
			}
		}
	})
}

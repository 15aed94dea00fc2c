package record

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/wire"
	"acp-shim/proxy"

	"github.com/google/go-cmp/cmp"
)

// secretShapes are the secrets that a capture must not hold, in the ways in which
// clients, agents and tools write them. The secret is between « and »; where it
// is in several lines each of them is one.
var secretShapes = []struct{ name, frame string }{
	{"header in a list", `{"method":"session/new","params":{"mcpServers":[{"type":"http","name":"b","url":"http://h/","headers":[{"name":"X-Whatever","value":"«h3ader-V4lue-1»"}]}]}}`},
	{"header in a map", `{"params":{"headers":{"X-Whatever":"«h3ader-V4lue-2»"}}}`},
	{"header in lines", `{"params":{"headers":["X-Whatever: «h3ader-V4lue-3»"]}}`},
	{"variable in a list", `{"method":"terminal/create","params":{"env":[{"name":"WHATEVER","value":"«v4riable-V1»"}]}}`},
	{"variable in a map", `{"params":{"env":{"WHATEVER":"«v4riable-V2»"}}}`},
	{"variable in a program's words", `{"params":{"args":["-e","MY_KEY=«v4riable-V3»"]}}`},
	{"flag", `{"params":{"args":["--api-key","«fl4g-V4lue-9»"]}}`},
	{"flag in one word", `{"params":{"args":["--token=«fl4g-V4lue-8»"]}}`},
	{"password", `{"params":{"password":"«pa55word-X1»"}}`},
	{"bridge token", `{"params":{"x-bridge-token":"«br1dge-T0ken»"}}`},
	{"authenticate", `{"method":"authenticate","params":{"methodId":"k","_meta":{"whatever":"«met4-V4lue-7»"}}}`},
	{"bearer in a header", `{"params":{"headers":{"Authorization":"Bearer «b3arer-T0ken-1»"}}}`},
	{"bearer in a text", `{"params":{"text":"curl -H 'Authorization: Bearer «b3arer-T0ken-2»' https://h/"}}`},
	{"basic", `{"params":{"text":"Authorization: Basic «dXNlcjpwNHNzdzByZC1YMg==»"}}`},
	{"OpenAI", `{"params":{"text":"export K=«sk-proj-Ab12Cd34Ef56Gh78Ij90»"}}`},
	{"Anthropic", `{"params":{"text":"use «sk-ant-api03-Ab12Cd34_Ef56-Gh78» then"}}`},
	{"Google API key", `{"params":{"text":"use «AIzaSyA1234567890abcdefghijklmnopqrstuvw» then"}}`},
	{"Google access token", `{"params":{"text":"use «ya29.a0AfH6SMBx-y_z1» then"}}`},
	{"Google refresh token", `{"params":{"text":"use «1//0gAb12Cd34Ef56-l_m» then"}}`},
	{"Google client secret", `{"params":{"text":"use «GOCSPX-Ab12Cd34Ef56» then"}}`},
	{"GitHub", `{"params":{"text":"use «ghp_Ab12Cd34Ef56Gh78Ij90» then"}}`},
	{"GitHub, fine-grained", `{"params":{"text":"use «github_pat_11ABCDEFG0Ab12Cd34Ef» then"}}`},
	{"GitLab", `{"params":{"text":"use «glpat-Ab12Cd34Ef56Gh78» then"}}`},
	{"Slack", `{"params":{"text":"use «xoxb-1234567890-Ab12Cd» then"}}`},
	{"AWS", `{"params":{"text":"use «AKIAIOSFODNN7EXAMPLE» then"}}`},
	{"AWS, secret", `{"params":{"text":"aws_secret_access_key = «wJalrXUtnFEMI7K7MDENGbPxRfiCYEXAMPLEKEY»"}}`},
	{"Stripe", `{"params":{"text":"use «sk_live_Ab12Cd34Ef56» then"}}`},
	{"npm", `{"params":{"text":"use «npm_Ab12Cd34Ef56Gh78Ij90Kl12» then"}}`},
	{"Hugging Face", `{"params":{"text":"use «hf_Ab12Cd34Ef56Gh78» then"}}`},
	{"JWT", `{"params":{"text":"use «eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.Ab1-DEF_1» then"}}`},
	{"OAuth answer", `{"result":{"access_token":"«4ccess-T0ken-5»","refresh_token":"«r3fresh-T0ken-5»","id_token":"«1d-T0ken-V5a»","expires_in":3599}}`},
	{"OAuth URL", `{"params":{"url":"https://accounts.example/auth?client_id=me&state=«st4te-V4lue-1»&code_challenge=«ch4llenge-V1»"}}`},
	{"OAuth callback", `{"params":{"text":"GET /callback?code=«4/0Ab12Cd34Ef56Gh78»&state=«st4te-V4lue-2» HTTP/1.1"}}`},
	{"OAuth URL in a URL", `{"params":{"url":"https://h/?continue=http%3A%2F%2Flocalhost%3A1%2F%3Ftoken%3D«t0ken-V4lue-3»%26x%3D1"}}`},
	{"cookie", `{"params":{"text":"Cookie: sid=«c00kie-V4lue»; theme=dark"}}`},
	{"set-cookie", `{"params":{"headers":{"Set-Cookie":"sid=«c00kie-V4lue-2»; Path=/; HttpOnly"}}}`},
	{"URL userinfo", `{"params":{"uri":"postgres://admin:«us3rinfo-V4lue»@db.example/x"}}`},
	{"PEM", `{"params":{"text":"-----BEGIN PRIVATE KEY-----\n«MIIEvQIBADANBgkqhkiG9w0BAQEF»\n«AASCBKcwggSjAgEAAoIBAQC7VJTU»\n-----END PRIVATE KEY-----\n"}}`},
	{"JSON in a string", `{"params":{"rawInput":"{\"headers\":{\"X\":\"«n3sted-V4lue-1»\"}}"}}`},
	{"name and value", `{"params":{"options":[{"name":"GITHUB_TOKEN","value":"«p4ir-V4lue-1»"}]}}`},
	{"with quotes in it", `{"params":{"password":"«qu0te-\"V4\\lue/9»"}}`},
}

// parts takes a marked frame apart.
func (s shapeCase) parts() (frame string, secrets []string) {
	rest := s.frame
	for {
		before, more, ok := strings.Cut(rest, "«")
		frame += before
		if !ok {
			return frame, secrets
		}
		var secret string
		secret, rest, _ = strings.Cut(more, "»")
		frame += secret
		secrets = append(secrets, string(unescape([]byte(secret))))
	}
}

type shapeCase struct{ name, frame string }

// TestLiveRedactorShapes records every shape, as a frame, as one that the shim has
// changed, and as a line of stderr.
func TestLiveRedactorShapes(t *testing.T) {
	for _, tt := range secretShapes {
		t.Run(tt.name, func(t *testing.T) {
			frame, secrets := shapeCase(tt).parts()
			if len(secrets) == 0 {
				t.Fatal("there is no secret")
			}
			d := newDisk()
			w := newWriter(d, "f", Options{})
			say(w, frame)
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			for _, s := range secrets {
				gone(t, d.text(), s)
			}
			sameShape(t, frame, d.text())
		})
	}
}

// say tells a tap the frame in the three ways.
func say(w proxy.Tap, frame string) {
	w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: []byte(frame + "\n")})
	m := &wire.Message{}
	m.Parse([]byte(frame + "\n"))
	m.Splice(1, 0, `"id":1,`)
	w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.AgentPeer(1), Bytes: m.Raw, Edits: m.Edits()})
	w.Event(&proxy.Event{Kind: "stderr", Agent: 1, Text: "RAW WS MSG: " + frame})
}

// gone checks that a secret is in no spelling in what was written.
func gone(t *testing.T, text, secret string) {
	t.Helper()
	for _, n := range spellings(secret) {
		if strings.Contains(text, n.text) {
			t.Errorf("%s is in\n%s", n.text, text)
		}
	}
}

// sameShape checks that the frames in a capture have the shape of one frame.
func sameShape(t *testing.T, frame, capture string) {
	t.Helper()
	for _, e := range entries(t, capture) {
		if !e.IsFrame() {
			continue
		}
		if !e.JSON {
			t.Fatalf("no JSON any more: %s", e.Sent())
		}
		if diff := cmp.Diff(shapeOf(t, []byte(frame)), shapeOf(t, e.Received())); diff != "" {
			t.Errorf("its shape changed: %s", diff)
		}
	}
}

// redactCapture redacts what must be a whole capture.
func redactCapture(t testing.TB, capture string) (string, Redaction) {
	t.Helper()
	var out bytes.Buffer
	sum, err := RedactCapture(func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(capture)), nil
	}, &out, func(e *LineError) { t.Error(e) })
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), sum
}

// TestRedactCaptureShapes: of a raw capture every shape goes, and so does the same
// secret before it and after it, where nothing but its bytes gives it away.
func TestRedactCaptureShapes(t *testing.T) {
	for _, tt := range secretShapes {
		t.Run(tt.name, func(t *testing.T) {
			frame, secrets := shapeCase(tt).parts()
			for _, secret := range secrets {
				d := newDisk()
				w := newWriter(d, "f", Options{Raw: true, Start: time.Now()})
				echo := `{"method":"session/update","params":{"update":{"content":{"text":` + wire.Quote("it is <"+secret+">, no?") + `}}}}`
				again := `{"n":[1,{"b":` + wire.Quote(base64.StdEncoding.EncodeToString([]byte("xy"+secret+"z"))) + `}]}`
				deep := `{"rawOutput":` + wire.Quote(`{"text":`+wire.Quote(secret)+`}`) + `}`
				w.Event(&proxy.Event{Kind: "stderr", Agent: 1, Text: "E1130 denied: " + secret + "\n"})
				for _, f := range []string{echo, frame, echo, again, deep} {
					w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: []byte(f + "\n")})
				}
				w.Event(&proxy.Event{Kind: "exit", Agent: 1, Text: "code 1", Data: []byte(`{"last":` + wire.Quote(secret) + `}`)})
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				out, _ := redactCapture(t, d.text())
				gone(t, out, secret)
				var frames []string
				for _, e := range entries(t, out) {
					if e.IsFrame() {
						frames = append(frames, string(e.Body))
					}
				}
				for i, f := range []string{echo, frame, echo, again, deep} {
					if diff := cmp.Diff(shapeOf(t, []byte(f)), shapeOf(t, []byte(frames[i]))); diff != "" {
						t.Errorf("%s is %s", f, frames[i])
					}
				}
				if frames[0] != frames[2] {
					t.Errorf("the same secret is replaced by two things:\n%s\n%s", frames[0], frames[2])
				}
				if twice, _ := redactCapture(t, out); twice != out {
					t.Errorf("redacting again makes\n%s\nof\n%s", twice, out)
				}
			}
		})
	}
}

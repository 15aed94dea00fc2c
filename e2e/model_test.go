//go:build linux

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// model answers as the Gemini API does, as far as gemini-cli asks: one streamed
// answer a request, chosen by the first word of the user's last text.
type model struct {
	url string
	// hung gets a value when a client hangs up in the middle of a stream.
	hung chan struct{}

	mu   sync.Mutex
	seen []string // paths, and what was not understood
}

type part struct {
	Text         string `json:"text,omitempty"`
	FunctionCall *struct {
		Name string         `json:"name"`
		Args map[string]any `json:"args"`
	} `json:"functionCall,omitempty"`
	InlineData *struct {
		MimeType string `json:"mimeType"`
		Data     []byte `json:"data"`
	} `json:"inlineData,omitempty"`
	FunctionResponse *struct {
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse,omitempty"`
}

type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

func startModel(t *testing.T) *model {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &model{url: "http://" + l.Addr().String(), hung: make(chan struct{}, 16)}
	server := &http.Server{Handler: m}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
		if t.Failed() {
			t.Logf("the model was asked: %q", m.requests())
		}
	})
	return m
}

func (m *model) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string(nil), m.seen...)
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // cut short, it does not parse
	var asked question
	err := json.Unmarshal(body, &asked)
	m.mu.Lock()
	m.seen = append(m.seen, fmt.Sprint(r.URL.Path, " ", err))
	m.mu.Unlock()
	switch {
	case err != nil || len(asked.Contents) == 0:
		http.Error(w, `{"error":{"code":400,"message":"not understood"}}`, http.StatusBadRequest)
	case strings.HasSuffix(r.URL.Path, ":streamGenerateContent"):
		w.Header().Set("Content-Type", "text/event-stream")
		m.stream(w, r, asked)
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		_, _ = io.WriteString(w, `{"totalTokens":7}`)
	default:
		_, _ = w.Write(candidate(part{Text: "A short answer."}, true))
	}
}

// question is what the model is asked with.
type question struct {
	Contents []content `json:"contents"`
	Tools    []struct {
		FunctionDeclarations []struct {
			Name string `json:"name"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
}

func candidate(p part, last bool) []byte {
	type candidates struct {
		Content      content `json:"content"`
		FinishReason string  `json:"finishReason,omitempty"`
	}
	c := candidates{Content: content{"model", []part{p}}}
	all := map[string]any{"candidates": []*candidates{&c}}
	if last {
		c.FinishReason = "STOP"
		all["usageMetadata"] = map[string]int{"promptTokenCount": 3, "candidatesTokenCount": 4, "totalTokenCount": 7}
	}
	b, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return b
}

func (m *model) stream(w http.ResponseWriter, r *http.Request, asked question) {
	contents := asked.Contents
	event := func(p part, last bool) bool {
		_, err := fmt.Fprintf(w, "data: %s\r\n\r\n", candidate(p, last))
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		return err == nil && r.Context().Err() == nil
	}
	if parts, ok := asked.plain(); ok {
		for i, p := range parts {
			if !event(p, i == len(parts)-1) {
				m.hung <- struct{}{}
				return
			}
			if len(parts) > 2 {
				select {
				case <-r.Context().Done():
				case <-time.After(2 * time.Millisecond):
				}
			}
		}
		return
	}
	var text string
	for _, p := range contents[len(contents)-1].Parts {
		if p.FunctionResponse != nil {
			event(part{Text: "The tool said " + string(p.FunctionResponse.Response)}, true)
			return
		}
		text += p.Text
	}
	words := strings.Fields(text)
	switch {
	case len(words) > 1 && words[0] == "write":
		p := part{}
		p.FunctionCall = &struct {
			Name string         `json:"name"`
			Args map[string]any `json:"args"`
		}{"write_file", map[string]any{"file_path": words[1], "content": "written by the model\n"}}
		event(p, true)
	case len(words) > 0 && words[0] == "count":
		for i := 1; event(part{Text: fmt.Sprintf("%d\n", i)}, false); i++ {
			select {
			case <-r.Context().Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
		m.hung <- struct{}{}
	default:
		event(part{Text: "Hello from "}, false)
		event(part{Text: "a model that is none."}, true)
	}
}

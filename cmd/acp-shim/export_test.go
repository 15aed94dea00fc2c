package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"acp-shim/fixtures"
)

// TestExportToACollector sends a capture that is shipped to a collector, with
// headers of both places that they come from.
func TestExportToACollector(t *testing.T) {
	var body string
	var header http.Header
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s: %v", r.URL, err)
		}
		body += string(b)
		header = r.Header
		io.WriteString(w, "{}")
	}))
	defer collector.Close()
	capture, err := fixtures.Captures.ReadFile("captures/demo-1.3.0.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "demo.jsonl")
	if err := os.WriteFile(path, capture, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b,x-tenant=env")
	err = exportCmd{File: []string{path}, Format: "otlp", Endpoint: collector.URL, Header: []string{"X-Tenant=mine"}, Service: "shims"}.Run()
	if err != nil {
		t.Fatal(err)
	}
	if header.Get("Api-Key") != "a b" || header.Get("X-Tenant") != "mine" {
		t.Errorf("headers %v", header)
	}
	for _, want := range []string{`"shims"`, "invoke_agent antigravity-acp", "execute_tool ", `"session/new"`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	if strings.Contains(body, "injected") {
		t.Error("what was said is in it, and was not asked for")
	}
}

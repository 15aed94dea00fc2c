package settings

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// verdicts are what the schema and Load make of a config file.
func verdicts(t *testing.T, s *jsonschema.Schema, text string) (schema, load error) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, load = Load([]string{"--config=" + path}, false, func(string) string { return "" })
	return s.Validate(doc), load
}

// TestSchemaAndLoadAgree holds every row of the table to both, by values that are
// right and by values that are wrong.
func TestSchemaAndLoadAgree(t *testing.T) {
	s := compiled(t)
	good := func(text string) {
		if schema, load := verdicts(t, s, text); schema != nil || load != nil {
			t.Errorf("%s should do: the schema says %v, Load %v", text, schema, load)
		}
	}
	bad := func(text string) {
		if schema, load := verdicts(t, s, text); schema == nil || load == nil {
			t.Errorf("%s should not do: the schema says %v, Load %v", text, schema, load)
		}
	}
	for _, r := range Rows() {
		set := func(value string) string { return fmt.Sprintf(`{%q: %s}`, r.Name, value) }
		if r.Name == "config" {
			bad(set(`"x"`))
			continue
		}
		bad(set("{}"))
		bad(set("null"))
		if r.kind != list {
			bad(set(`["x"]`))
		}
		switch r.kind {
		case choice:
			for _, v := range r.values {
				good(set(`"` + v + `"`))
			}
			bad(set(`"another"`))
		case flag:
			good(set("true"))
			good(set(`"off"`))
			bad(set(`"maybe"`))
			bad(set("7"))
		case number:
			good(set(fmt.Sprint(r.min)))
			good(set(fmt.Sprint(r.max)))
			bad(set(fmt.Sprint(r.max + 1)))
			bad(set(fmt.Sprint(r.min - 1)))
			bad(set("1.5"))
			bad(set(`"many"`))
		case duration:
			good(set(`"1500ms"`))
			good(set(`"1m30s"`))
			bad(set(`"soon"`))
			bad(set("10"))
		case list:
			good(set(`"a=b"`))
			good(set(`["a=b", "c=d"]`))
			bad(set(`[""]`))
		default:
			good(set(`"x"`))
		}
	}
	good(`{"$schema": "./schema.json"}`)
	bad(`{"no-such-setting": 1}`)
}

// TestEffective says who has set what, and shows no secret.
func TestEffective(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{"profile": "agy", "max-agents": 3, "agent": "/opt/agy"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"ACP_SHIM_MAX_AGENTS": "4", "ACP_SHIM_BRIDGE_TOKEN": "hush", "ACP_SHIM_MCP_HEADER": "a:b=hush"}
	s, err := Load([]string{"--config=" + path, "--cancel-grace=2s"}, false, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Effective{}
	for _, e := range s.Effective() {
		got[e.Name] = e
	}
	for _, want := range []Effective{
		{"agent", "/opt/agy", "config file"}, {"profile", "agy", "config file"}, {"max-agents", "4", "variable ACP_SHIM_MAX_AGENTS"},
		{"bridge-token", "(set)", "variable ACP_SHIM_BRIDGE_TOKEN"}, {"mcp-header", "(set)", "variable ACP_SHIM_MCP_HEADER"},
		{"cancel-grace", "2s", "flag"}, {"cancel", "auto", "default"}, {"idle-timeout", "1h", "default"},
	} {
		if got[want.Name] != want {
			t.Errorf("%+v, want %+v", got[want.Name], want)
		}
	}
}

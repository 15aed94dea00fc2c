package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"acp-shim/internal/settings"
	"acp-shim/rewrite"
)

const schemaFile = "../../docs/config.schema.json"

// TestSchemaFile holds the file in docs to what the program knows. With
// UPDATE_README=1 it writes it.
func TestSchemaFile(t *testing.T) {
	if os.Getenv("UPDATE_README") != "" {
		if err := os.WriteFile(schemaFile, settings.Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(b, settings.Schema()) {
		t.Errorf("docs/config.schema.json is not what the program knows (%v); run UPDATE_README=1 go test ./cmd/acp-shim -run TestSchemaFile", err)
	}
}

// TestRulesSchema holds the schema of a user's rules to what reads them.
func TestRulesSchema(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(settings.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	for rules, good := range map[string]bool{
		`[]`: true,
		`[{"method": "*", "direction": "to-agent", "default": {"_meta.team": "blue"}}]`:                                                  true,
		`[{"method": "session/prompt", "direction": "to-agent", "rename": {"prompt.*.mime": "mimeType"}, "set": {"a": null, "b": [1]}}]`: true,
		`[{"method": "session/update", "direction": "to-client", "delete": ["update._meta"]}]`:                                           true,
		`{}`:   false,
		`[7]`:  false,
		`[{}]`: false,
		`[{"method": "*", "direction": "to-agent"}]`:                                 false,
		`[{"method": "", "direction": "to-agent", "set": {"a": 1}}]`:                 false,
		`[{"method": "*", "direction": "sideways", "set": {"a": 1}}]`:                false,
		`[{"direction": "to-agent", "set": {"a": 1}}]`:                               false,
		`[{"method": "*", "direction": "to-agent", "sets": {"a": 1}}]`:               false,
		`[{"method": "*", "direction": "to-agent", "set": {"a": 1}, "delete": "a"}]`: false,
		`[{"method": "*", "direction": "to-agent", "rename": {"a": 7}}]`:             false,
		`[{"method": "*", "direction": "to-agent", "set": [1]}]`:                     false,
		`[{"method": "*", "direction": "to-agent", "delete": [7]}]`:                  false,
	} {
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"rules": ` + rules + `}`))
		if err != nil {
			t.Fatal(err)
		}
		_, read := rewrite.ParseRules([]byte(rules))
		if invalid := schema.Validate(doc); (invalid == nil) != good || (read == nil) != good {
			t.Errorf("%s: the schema says %v, the reader %v", rules, invalid, read)
		}
	}
}

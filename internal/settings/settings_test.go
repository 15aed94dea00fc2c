package settings

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	os.WriteFile(file, []byte(`{
	// a comment
	"cancel": "native", /* and another */
	"permissions": "deny",
	"mcp": ["a=http://a"],
	"max-agents": 2,
	"agent": "from-file",
}`), 0o600)
	s, err := Load([]string{"--cancel=emulate", "--quirk", "x=off", "--no-remember", "--uid=", "-v", "--", "agent", "--cancel"},
		false, env(map[string]string{"ACP_SHIM_CONFIG": file, "ACP_SHIM_CANCEL": "auto", "ACP_SHIM_PERMISSIONS": "allow", "ACP_SHIM_MCP": "b=http://b;c=http://c", "ACP_SHIM_AGENT": "from-env"}))
	if err != nil {
		t.Fatal(err)
	}
	if s.Cancel != "emulate" || s.Permissions != "allow" || s.MaxAgents != 2 || strings.Join(s.MCP, " ") != "b=http://b c=http://c" ||
		s.Remember || !s.Verbose || strings.Join(s.Words, " ") != "agent --cancel" || strings.Join(s.AgentArgs, " ") != "--uid=" ||
		s.AgentFile != "from-file" || s.AgentEnv != "from-env" || s.AgentFlag != "" || strings.Join(s.Quirks, "") != "x=off" || s.Grace != time.Second {
		t.Errorf("got %+v", s)
	}
}

func TestUnderTheAgentsName(t *testing.T) {
	s, err := Load([]string{"--help", "--uid=", "--what"}, true, env(nil))
	if err != nil || strings.Join(s.AgentArgs, " ") != "--help --uid= --what" {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		env  map[string]string
		file string
		want string
	}{
		{args: []string{"--cancle=auto"}, want: "unknown flag --cancle; did you mean --cancel?"},
		{args: []string{"--cancel"}, want: "the flag --cancel needs a value: auto|native|emulate"},
		{args: []string{"--cancel=natve"}, want: `the flag --cancel is one of auto, native and emulate, not "natve"; did you mean native?`},
		{args: []string{"--max-agents=0"}, want: "a whole number from 1 to 1000"},
		{args: []string{"--cancel-grace=soon"}, want: "a duration like 500ms"},
		{args: []string{"--cancel-grace=0"}, want: "from 1ms to 10m0s"},
		{args: []string{"--record-raw=maybe"}, want: "is on or off"},
		{args: []string{"prob"}, want: `"prob" is no flag`},
		{env: map[string]string{"ACP_SHIM_LOG_LEVEL": "loud"}, want: "the variable ACP_SHIM_LOG_LEVEL is one of debug"},
		{file: "{\n\"cancel\": \"auto\",\n\n\"canel-grace\": \"1s\"}", want: `line 4: unknown key "canel-grace"; did you mean cancel-grace?`},
		{file: "{\n\"cancel\": 7}", want: `line 2: "cancel" is one of auto`},
		{file: "{\n\"cancel\" \"auto\"}", want: "line 2: invalid character"},
		{file: "{\"cancel\":\"auto\",\n\"cancel\":\"auto\"}", want: `line 2: "cancel" is set twice`},
		{file: "[]", want: "it must be an object"},
		{file: `{"cancel":["auto"]}`, want: "takes one value"},
		{args: []string{"--config", "/does/not/exist"}, want: "reading the config file"},
	} {
		vars := map[string]string{}
		for k, v := range c.env {
			vars[k] = v
		}
		if c.file != "" {
			vars["ACP_SHIM_CONFIG"] = filepath.Join(t.TempDir(), "config.json")
			os.WriteFile(vars["ACP_SHIM_CONFIG"], []byte(c.file), 0o600)
		}
		_, err := Load(c.args, false, env(vars))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v %v %q: got %v, want %q", c.args, c.env, c.file, err, c.want)
		}
	}
}

// A misspelt flag is shown by its name: its value may be a token.
func TestAMistakeShowsNoValue(t *testing.T) {
	_, err := Load([]string{"--bridge-tokn=hunter2"}, false, env(nil))
	if err == nil || !strings.Contains(err.Error(), "--bridge-token?") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestByteOrderMark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(file, []byte("\ufeff{\r\n// a comment\r\n\"cancel\": \"native\",\r\n\"rules\": [1]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Load(nil, false, env(map[string]string{"ACP_SHIM_CONFIG": file}))
	if err != nil || s.Cancel != "native" {
		t.Fatalf("got %+v, %v", s, err)
	}
	if rules, err := RulesOf(s.ConfigText); err != nil || string(rules) != "[1]" {
		t.Errorf("rules %q, %v", rules, err)
	}
}

// TestDefaultsAreWhatTheTableSays holds the table that help and README show
// against what is there before anything is set.
func TestDefaultsAreWhatTheTableSays(t *testing.T) {
	s := defaults()
	for _, r := range Rows() {
		if r.Default == "" || r.kind == text {
			continue
		}
		was := defaults()
		if err := r.set(r.at(was), r.Default); err != nil {
			t.Errorf("%s: %v", r.Name, err)
			continue
		}
		switch now := r.at(s).(type) {
		case *bool:
			if *now != *r.at(was).(*bool) {
				t.Errorf("%s: %v", r.Name, *now)
			}
		case *int:
			if *now != *r.at(was).(*int) {
				t.Errorf("%s: %v", r.Name, *now)
			}
		case *string:
			if *now != *r.at(was).(*string) {
				t.Errorf("%s: %v", r.Name, *now)
			}
		case *time.Duration:
			if *now != *r.at(was).(*time.Duration) {
				t.Errorf("%s: %v", r.Name, *now)
			}
		}
	}
}

func TestAFileWithoutAnEnd(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there is no such file here")
	}
	_, err := Load([]string{"--config=/dev/zero"}, false, env(nil))
	if err == nil || !strings.Contains(err.Error(), "is larger than 16 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestNothingAtAll(t *testing.T) {
	if _, err := Load(nil, false, env(nil)); err != nil {
		t.Errorf("with an empty environment: %v", err)
	}
}

// TestConfigOfOthers refuses a config file that anybody can write: it says what is run,
// and where secrets go.
func TestConfigOfOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes")
	}
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(`{"agent": "/tmp/evil"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load([]string{"--config=" + path}, false, func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "can be written by everybody") {
		t.Error(err)
	}
}

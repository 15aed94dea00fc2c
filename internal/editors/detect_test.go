package editors

import (
	"errors"
	"strings"
	"testing"
)

func TestDetectNothing(t *testing.T) {
	d := newDesk(t)
	for _, f := range Detect(d.m) {
		if f.State != Absent {
			t.Errorf("%+v", f)
		}
	}
	d.m.Home = ""
	for _, f := range Detect(d.m) {
		if f.State != Absent {
			t.Errorf("without a home: %+v", f)
		}
	}
	_, err := d.plan("zed", Request{})
	fails(t, err, "--settings")
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name   string
		client string
		set    func(*desk)
		state  State
		file   string
		where  string
		entry  string
	}{
		{"Zed by its directory", "zed", func(d *desk) { d.put(".config/zed/keymap.json", "") }, Open, zedFile, ".config/zed", ""},
		{"Zed by its program", "zed", func(d *desk) { d.has("zeditor") }, Open, zedFile, "/usr/bin/zeditor", ""},
		{"Zed in XDG_CONFIG_HOME", "zed", func(d *desk) {
			d.env["XDG_CONFIG_HOME"] = d.at("xdg")
			d.put("xdg/zed/settings.json", `{"agent_servers":{"A":{"type":"custom","command":"/x/acp-shim"}}}`)
		}, Ready, "xdg/zed/settings.json", "xdg/zed", "A"},
		{"a relative XDG_CONFIG_HOME is none", "zed", func(d *desk) {
			d.env["XDG_CONFIG_HOME"] = "xdg"
			d.put(zedFile, `{}`)
		}, Open, zedFile, ".config/zed", ""},
		{"Zed as a flatpak", "zed", func(d *desk) { d.put(".var/app/dev.zed.Zed/config/zed/x", "") }, Open,
			".var/app/dev.zed.Zed/config/zed/settings.json", ".var/app/dev.zed.Zed/config/zed", ""},
		{"Zed on macOS", "zed", func(d *desk) { d.m.GOOS = "darwin"; d.env["XDG_CONFIG_HOME"] = d.at("xdg"); d.put(zedFile, "") }, Open, zedFile, ".config/zed", ""},
		{"Zed on Windows", "zed", func(d *desk) {
			d.m.GOOS = "windows"
			d.env["APPDATA"] = d.at("roaming")
			d.put("roaming/Zed/settings.json", `{"agent_servers":{"antigravity-acp":{"type":"registry"}}}`)
		}, Open, "roaming/Zed/settings.json", "roaming/Zed", "antigravity-acp"},
		{"pi", "pi", func(d *desk) { d.put(".pi/agent/x", "") }, Open, piFile, ".pi/agent", ""},
		{"pi with the agent", "pi", func(d *desk) { d.put(piFile, `{"acp":{"bin":"/x/agy_acp_server.par"}}`) }, Open, piFile, ".pi/agent", "acp.bin"},
		{"pi with the shim", "pi", func(d *desk) { d.put(piFile, `{"acp":{"bin":"C:\\x\\acp-shim.exe"}}`) }, Ready, piFile, ".pi/agent", "acp.bin"},
		{"acpx", "acpx", func(d *desk) {
			d.put(acpxFile, `{"agents":{"o":{"command":"opencode acp"},"a":{"command":"/x/acp-shim","args":["-v"]}}}`)
		}, Ready, acpxFile, ".acpx", "a"},
		{"acpx in front of another agent", "acpx", func(d *desk) { d.put(acpxFile, `{"agents":{"o":{"argv":["acp-shim","--","opencode","acp"]}}}`) }, Open, acpxFile, ".acpx", ""},
		{"codecompanion", "codecompanion", func(d *desk) { d.put(".local/share/nvim/lazy/codecompanion.nvim/x", "") }, Open, "", ".local/share/nvim/lazy/codecompanion.nvim", ""},
		{"codecompanion with the shim", "codecompanion", func(d *desk) {
			d.put(".local/share/nvim/site/pack/p/start/codecompanion.nvim/x", "")
			d.put(".config/nvim/lua/plugins/ai.lua", `default = { "/x/acp-shim" }`)
		}, Ready, "", ".config/nvim/lua/plugins/ai.lua", ""},
		{"avante on Windows", "avante", func(d *desk) {
			d.m.GOOS = "windows"
			d.env["LOCALAPPDATA"] = d.at("local")
			d.put("local/nvim-data/lazy/avante.nvim/x", "")
		}, Open, "", "local/nvim-data/lazy/avante.nvim", ""},
		{"JetBrains", "jetbrains", func(d *desk) { d.put(".config/JetBrains/x", "") }, Open, ".jetbrains/acp.json", ".config/JetBrains", ""},
		{"JetBrains with the shim", "jetbrains", func(d *desk) {
			d.put(".jetbrains/acp.json", `{"agent_servers":{"A":{"command":"/x/acp-shim","args":[],"env":{}}}}`)
		}, Ready, ".jetbrains/acp.json", ".jetbrains", "A"},
		{"Emacs", "emacs", func(d *desk) { d.put(".emacs.d/init.el", "") }, Open, "", ".emacs.d", ""},
		{"Emacs with the shim", "emacs", func(d *desk) { d.put(".config/emacs/init.el", `(list "/x/acp-shim")`) }, Ready, "", ".config/emacs/init.el", ""},
		{"Paseo", "paseo", func(d *desk) {
			d.env["PASEO_HOME"] = d.at("p")
			d.put("p/config.json", `{"agents":{"providers":{"agy":{"extends":"acp","label":"x","command":["/x/acp-shim"]}}}}`)
		}, Ready, "p/config.json", "p", "agy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			c.set(d)
			f := client(t, c.client).Detect(d.m)
			file, where := "", c.where
			if c.file != "" {
				file = d.at(c.file)
			}
			if !strings.HasPrefix(where, "/") {
				where = d.at(where)
			}
			if f.State != c.state || f.File != file || f.Where != where || f.Entry != c.entry {
				t.Errorf("found %+v", f)
			}
		})
	}
}

// has puts a program on PATH.
func (d *desk) has(name string) {
	d.m.LookPath = func(n string) (string, error) {
		if n == name {
			return "/usr/bin/" + n, nil
		}
		return "", errors.New("not found")
	}
}

func TestShownForOthers(t *testing.T) {
	d := newDesk(t)
	r := Request{Shim: `C:\bin\acp-shim.exe`, Agent: []string{`a "b"`, "--x"}, Name: "my-agy"}
	for name, want := range map[string][]string{
		"codecompanion": {`["my-agy"] = function()`, `extend("opencode", {`, `default = { "C:\\bin\\acp-shim.exe", "--", "a \"b\"", "--x" }`, `adapter = "my-agy"`},
		"avante":        {`provider = "my-agy"`, `["my-agy"] = {`, `command = "C:\\bin\\acp-shim.exe"`, `args = { "--", "a \"b\"", "--x" }`},
		"emacs":         {`(list "C:\\bin\\acp-shim.exe" "--" "a \"b\"" "--x")`},
	} {
		text, where, ok := client(t, name).Snippet(r)
		if !ok || where == "" {
			t.Errorf("%s: nothing is shown", name)
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: %q is not in\n%s", name, w, text)
			}
		}
	}
	for name, want := range map[string]string{
		"jetbrains": "{\n  \"agent_servers\": {\n    \"my-agy\": {\n      \"command\": \"C:\\\\bin\\\\acp-shim.exe\",\n      \"args\": [\"--\", \"a \\\"b\\\"\", \"--x\"],\n      \"env\": {}\n    }\n  }\n}\n",
		"paseo": "{\n  \"agents\": {\n    \"providers\": {\n      \"my-agy\": {\n        \"extends\": \"acp\",\n        \"label\": \"Antigravity (acp-shim)\",\n" +
			"        \"command\": [\"C:\\\\bin\\\\acp-shim.exe\", \"--\", \"a \\\"b\\\"\", \"--x\"]\n      }\n    }\n  }\n}\n",
	} {
		p, err := d.plan(name, r)
		if err != nil || string(p.After) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, p.After, want)
		}
		if _, _, ok := client(t, name).Snippet(r); ok {
			t.Errorf("%s has a snippet", name)
		}
	}
}

func TestWords(t *testing.T) {
	d := newDesk(t)
	file := d.put("my agents/a b", "")
	for line, want := range map[string]string{
		"opencode acp": "opencode|acp", " a  'b c' \"d e\"f ": "a|b c|d ef", `a\ b c`: "a b|c", file: file, `"" x`: "!", "": "!", "'a": "!",
	} {
		words, err := Words(line, true)
		if got := strings.Join(words, "|"); want == "!" && err == nil || want != "!" && got != want {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	if words, _ := Words(`C:\x\y z`, false); len(words) != 2 || words[0] != `C:\x\y` {
		t.Errorf("on Windows: %q", words)
	}
}

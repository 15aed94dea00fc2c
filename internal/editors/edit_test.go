package editors

import (
	"slices"
	"strings"
	"testing"
)

// Each edit is made, made again (nothing to do), and taken back to the byte.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		name   string
		client string
		file   string
		req    Request
		before string
		after  string
		entry  string
	}{
		{
			name: "Zed, empty", client: "zed", file: zedFile, before: "{}\n", entry: "Antigravity (acp-shim)",
			after: `{
  "agent_servers": {
    "Antigravity (acp-shim)": {
      "type": "custom",
      "command": "/home/you/.local/bin/acp-shim",
      "args": [],
      "env": {}
    }
  }
}
`,
		},
		{
			name: "Zed, blank", client: "zed", file: zedFile, before: "\n", entry: "Antigravity (acp-shim)",
			after: `{
  "agent_servers": {
    "Antigravity (acp-shim)": {
      "type": "custom",
      "command": "/home/you/.local/bin/acp-shim",
      "args": [],
      "env": {}
    }
  }
}
`,
		},
		{
			name: "Zed, comments, trailing commas, tabs", client: "zed", file: zedFile, entry: "Antigravity (acp-shim)",
			before: "// mine\n{\n\t/* a */ \"theme\" : \"x\",   // \"agent_servers\": {}\n\t\"agent_servers\": {\n\t\t\"other\": { \"command\": \"o\", \"args\": [1,] }, // o\n\t\t// last\n\t},\n\t\"vim\": true, // end\n}\n// tail",
			after: "// mine\n{\n\t/* a */ \"theme\" : \"x\",   // \"agent_servers\": {}\n\t\"agent_servers\": {\n\t\t\"other\": { \"command\": \"o\", \"args\": [1,] }, // o\n\t\t// last\n" +
				"\t\t\"Antigravity (acp-shim)\": {\n\t\t\t\"type\": \"custom\",\n\t\t\t\"command\": \"/home/you/.local/bin/acp-shim\",\n\t\t\t\"args\": [],\n\t\t\t\"env\": {}\n\t\t},\n" +
				"\t},\n\t\"vim\": true, // end\n}\n// tail",
		},
		{
			name: "Zed, a comment behind the last value", client: "zed", file: zedFile, entry: "x", req: Request{Name: "x"},
			before: "{\n    \"a\": 1 // one\n}",
			after: "{\n    \"a\": 1, // one\n    \"agent_servers\": {\n        \"x\": {\n            \"type\": \"custom\",\n            \"command\": \"/home/you/.local/bin/acp-shim\",\n" +
				"            \"args\": [],\n            \"env\": {}\n        }\n    }\n}",
		},
		{
			name: "Zed, on one line", client: "zed", file: zedFile, entry: "x", req: Request{Name: "x"},
			before: `{"a": 1, "agent_servers": {}}`,
			after: `{"a": 1, "agent_servers": {
  "x": {
    "type": "custom",
    "command": "/home/you/.local/bin/acp-shim",
    "args": [],
    "env": {}
  }
}}`,
		},
		{
			name: "Zed, CRLF and a byte order mark", client: "zed", file: zedFile, entry: "x", req: Request{Name: "x"},
			before: "\xef\xbb\xbf{\r\n  \"a\": 1\r\n}\r\n",
			after: "\xef\xbb\xbf{\r\n  \"a\": 1,\r\n  \"agent_servers\": {\r\n    \"x\": {\r\n      \"type\": \"custom\",\r\n      \"command\": \"/home/you/.local/bin/acp-shim\",\r\n" +
				"      \"args\": [],\r\n      \"env\": {}\r\n    }\r\n  }\r\n}\r\n",
		},
		{
			name: "Zed, the agent under a name of its own", client: "zed", file: zedFile, entry: "agy", req: Request{Default: "/opt/agy/agy_acp_server.par"},
			before: `{
  "agent_servers": {
    "other": { "type": "custom", "command": "opencode", "args": ["acp"] },
    "agy": {
      "type": "custom",
      "command": "agy_acp_server.par", // from PATH
      "args": ["--uid="],
      "env": { "GEMINI_HOME": "/x" },
      "default_mode": "yolo"
    }
  }
}`,
			after: `{
  "agent_servers": {
    "other": { "type": "custom", "command": "opencode", "args": ["acp"] },
    "agy": {
      "type": "custom",
      "command": "/home/you/.local/bin/acp-shim", // from PATH
      "args": [],
      "env": { "GEMINI_HOME": "/x" },
      "default_mode": "yolo"
    }
  }
}`,
		},
		{
			name: "Zed, a server that the shim would not find moves behind --", client: "zed", file: zedFile, entry: "agy", req: Request{Default: "/opt/agy/agy_acp_server.par"},
			before: `{"agent_servers": {"agy": {"command": "/opt/other/agy_acp_server.par", "args": ["--uid=", "--debug"]}}}`,
			after: `{"agent_servers": {"agy": {"command": "/home/you/.local/bin/acp-shim", "args": ["--", "/opt/other/agy_acp_server.par", "--uid=", "--debug"],
  "type": "custom"
}}}`,
		},
		{
			name: "Zed, a wrapper moves behind --", client: "zed", file: zedFile, entry: "agy", req: Request{Default: "/opt/agy/agy_acp_server.par"},
			before: `{"agent_servers": {"agy": {"type": "custom", "command": "nice", "args": ["/opt/agy/agy_acp_server.par"]}}}`,
			after:  `{"agent_servers": {"agy": {"type": "custom", "command": "/home/you/.local/bin/acp-shim", "args": ["--", "nice", "/opt/agy/agy_acp_server.par"]}}}`,
		},
		{
			name: "Zed, the registry's agent keeps its name", client: "zed", file: zedFile, entry: "antigravity-acp",
			before: "{\n  \"agent_servers\": {\n    \"antigravity-acp\": {\n      \"type\": \"registry\"\n    },\n    \"claude-acp\": {\n      \"type\": \"registry\"\n    }\n  }\n}\n",
			after: "{\n  \"agent_servers\": {\n    \"antigravity-acp\": {\n      \"type\": \"custom\",\n      \"command\": \"/home/you/.local/bin/acp-shim\"\n    },\n" +
				"    \"claude-acp\": {\n      \"type\": \"registry\"\n    }\n  }\n}\n",
		},
		{
			name: "Zed, the shim has moved", client: "zed", file: zedFile, entry: "a",
			before: `{"agent_servers": {"o": {"type": "custom", "command": "/old/acp-shim", "args": ["--", "opencode", "acp"]}, "a": {"type": "custom", "command": "/old/acp-shim", "args": ["--record", "/tmp/x"], "env": {}}}}`,
			after:  `{"agent_servers": {"o": {"type": "custom", "command": "/old/acp-shim", "args": ["--", "opencode", "acp"]}, "a": {"type": "custom", "command": "/home/you/.local/bin/acp-shim", "args": ["--record", "/tmp/x"], "env": {}}}}`,
		},
		{
			name: "Zed, an agent is given", client: "zed", file: zedFile, entry: "a", req: Request{Agent: []string{"/my agents/a", "--x"}},
			before: `{"agent_servers": {"a": {"type": "custom", "command": "/home/you/.local/bin/acp-shim", "args": ["-v", "--", "agy_acp_server.par"]}}}`,
			after:  `{"agent_servers": {"a": {"type": "custom", "command": "/home/you/.local/bin/acp-shim", "args": ["-v", "--", "/my agents/a", "--x"]}}}`,
		},
		{
			name: "pi, nothing set", client: "pi", file: piFile, entry: "acp.bin",
			before: "{\n  \"mode\": \"plan\"\n}\n",
			after:  "{\n  \"mode\": \"plan\",\n  \"acp\": {\n    \"bin\": \"/home/you/.local/bin/acp-shim\"\n  }\n}\n",
		},
		{
			name: "pi, another file", client: "pi", file: piFile, entry: "acp.bin",
			before: "{\n  \"engine\": \"acp\",\n  \"acp\": {\n    \"bin\": \"/opt/agy_acp_server.par\",\n    \"permissions\": \"auto\"\n  }\n}\n",
			after:  "{\n  \"engine\": \"acp\",\n  \"acp\": {\n    \"bin\": \"/home/you/.local/bin/acp-shim\",\n    \"permissions\": \"auto\"\n  }\n}\n",
		},
		{
			name: "acpx, other agents", client: "acpx", file: acpxFile, entry: "antigravity",
			before: `{ "agents": { "codex": { "argv": ["codex-acp"] } } }`,
			after:  "{ \"agents\": { \"codex\": { \"argv\": [\"codex-acp\"] },\n  \"antigravity\": {\n    \"argv\": [\"/home/you/.local/bin/acp-shim\"]\n  }\n} }",
		},
		{
			name: "acpx, argv", client: "acpx", file: acpxFile, entry: "agy", req: Request{Default: "/opt/agy/agy_acp_server.par"},
			before: `{ "agents": { "agy": { "argv": ["/opt/b/agy_acp_server.par", "--uid="] } } }`,
			after:  `{ "agents": { "agy": { "argv": ["/home/you/.local/bin/acp-shim", "--", "/opt/b/agy_acp_server.par", "--uid="] } } }`,
		},
		{
			name: "acpx, the older form", client: "acpx", file: acpxFile, entry: "agy", req: Request{Default: "/opt/agy/agy_acp_server.par"},
			before: "{\n  \"agents\": {\n    \"agy\": {\n      \"command\": \"agy_acp_server.par\",\n      \"args\": [\"--uid=\"]\n    }\n  }\n}\n",
			after:  "{\n  \"agents\": {\n    \"agy\": {\n      \"argv\": [\"/home/you/.local/bin/acp-shim\"]\n    }\n  }\n}\n",
		},
		{
			name: "acpx, the built-in name for something else", client: "acpx", file: acpxFile, entry: "Antigravity",
			before: `{"agents": {"Antigravity": {"command": "my wrapper"}}}`,
			after:  "{\"agents\": {\"Antigravity\": {\n  \"argv\": [\"/home/you/.local/bin/acp-shim\", \"--\", \"my\", \"wrapper\"]\n}}}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.put(c.file, c.before)
			p := d.write(c.client, c.req)
			d.is(c.file, c.after)
			if p.Entry != c.entry {
				t.Errorf("the entry is %q", p.Entry)
			}
			untouched(t, c.before, c.after)

			again, err := d.plan(c.client, c.req)
			if err != nil {
				t.Fatal(err)
			}
			if again.Changes() || again.Diff() != "" {
				t.Errorf("the second time it would change\n%s", again.Diff())
			}
			if f := client(t, c.client).Detect(d.m); f.State != Ready && len(c.req.Agent) == 0 && !strings.Contains(c.after, "wrapper") && !strings.Contains(c.after, "nice") {
				t.Errorf("it is told to be %+v", f)
			}

			if u := d.undo(c.client); !u.Whole {
				t.Errorf("undone %+v", u)
			}
			d.is(c.file, c.before)
			if dir, _, _ := strings.Cut(c.file, "/config.json"); c.client != "zed" && d.files(dir) != "config.json" {
				t.Errorf("left behind: %s", d.files(dir))
			}
		})
	}
}

// untouched checks that the lines of a file that are not part of the change are
// all there, in their order.
func untouched(t *testing.T, before, after string) {
	t.Helper()
	if strings.Count(before, "\n") < 2 {
		return
	}
	a := strings.Split(after, "\n")
	gone := 0
	for _, line := range strings.Split(before, "\n") {
		at := slices.IndexFunc(a, func(l string) bool { return l == line || strings.Replace(l, ",", "", 1) == line })
		if at < 0 {
			gone++
			continue
		}
		a = a[at+1:]
	}
	if gone > 3 {
		t.Errorf("%d lines of\n%s\nare not in\n%s", gone, before, after)
	}
}

func TestFresh(t *testing.T) {
	for name, file := range map[string]string{"zed": zedFile, "pi": piFile, "acpx": acpxFile} {
		d := newDesk(t)
		d.write(name, Request{})
		if !strings.Contains(d.read(file), shimPath) || !strings.HasSuffix(d.read(file), "}\n") {
			t.Errorf("%s: %s", name, d.read(file))
		}
		if u := d.undo(name); !u.Removed {
			t.Errorf("%s: undone %+v", name, u)
		}
		dir := file[:strings.LastIndexByte(file, '/')]
		if left := d.files(dir); left != "" {
			t.Errorf("%s: left behind: %s", name, left)
		}
	}
}

func TestNotes(t *testing.T) {
	d := newDesk(t)
	p, err := d.plan("pi", Request{})
	if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "/agy engine acp") {
		t.Errorf("notes %q, error %v", p.Notes, err)
	}
	d.put(piFile, `{"engine":"acp","acp":{"bin":"/opt/agy_acp_server.par"}}`)
	p, err = d.plan("pi", Request{})
	if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "would not find /opt/agy_acp_server.par") {
		t.Errorf("notes %q, error %v", p.Notes, err)
	}
	d.put(zedFile, `{"agent_servers":{"antigravity-acp":{"type":"registry"}}}`)
	p, err = d.plan("zed", Request{})
	if err != nil || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "keeps its name") {
		t.Errorf("notes %q, error %v", p.Notes, err)
	}
	d.put(".var/app/dev.zed.Zed/config/zed/settings.json", "{}")
	p, err = d.plan("zed", Request{})
	if err != nil || len(p.Notes) != 2 || !strings.Contains(p.Notes[0], "there is another ") || p.File != d.at(zedFile) {
		t.Errorf("notes %q, error %v", p.Notes, err)
	}
	_, err = d.plan("pi", Request{Agent: []string{"x"}})
	fails(t, err, "one file without arguments", "ACP_SHIM_AGENT")
	_, err = d.plan("pi", Request{Name: "x"})
	fails(t, err, "no names")
	_, err = d.plan("acpx", Request{Name: "Agy"})
	fails(t, err, "--name agy")
	_, err = d.plan("paseo", Request{Name: "Agy 1"})
	fails(t, err, "lower-case letters, digits and dashes")
	_, err = d.plan("zed", Request{Name: "a\x1b"})
	fails(t, err, "control characters")
	_, err = Find("vim")
	fails(t, err, `"vim"`, "zed, pi, acpx")
}

func TestMask(t *testing.T) {
	d := newDesk(t)
	d.put(zedFile, "{\n  \"agent_servers\": {\n    \"agy\": {\n      \"type\": \"custom\",\n      \"command\": \"agy_acp_server.par\",\n      \"env\": {\"GEMINI_API_KEY\": \"hush-1\", \"HTTPS_PROXY\": \"http://me:hush-2@proxy\", \"OPTS\": \"--api-key=hush-4 -b\", \"TOKEN\": \"hu\\\"sh-3\"}\n    }\n  }\n}\n")
	p, err := d.plan("zed", Request{})
	if err != nil {
		t.Fatal(err)
	}
	if s := p.Diff(); strings.Contains(s, "hush") || strings.Contains(s, "sh-3") || !strings.Contains(s, `"GEMINI_API_KEY": "***"`) {
		t.Errorf("the diff is\n%s", s)
	}
}

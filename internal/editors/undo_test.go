package editors

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestUndoAfterAnEdit(t *testing.T) {
	for _, c := range []struct {
		name          string
		before        string
		edit          func(string) string
		after         string
		fails         string
		again, remove bool
	}{
		{name: "elsewhere", before: "{\n  \"a\": 1 // one\n}\n", edit: swap(`"a": 1`, `"a": 2`), after: "{\n  \"a\": 2 // one\n}\n"},
		{name: "in the object that was made", before: "{\n  \"a\": 1\n}\n",
			edit:  swap("\"agent_servers\": {\n", "\"agent_servers\": {\n    \"mine\": {},\n"),
			after: "{\n  \"a\": 1,\n  \"agent_servers\": {\n    \"mine\": {}\n  }\n}\n"},
		{name: "a comment in the object that was made", before: "{\n  \"a\": 1\n}\n",
			edit:  swap("\"agent_servers\": {\n", "\"agent_servers\": { // mine\n"),
			after: "{\n  \"a\": 1,\n  \"agent_servers\": { // mine\n  }\n}\n"},
		{name: "of an entry that was there", before: "{\n  \"a\": 1,\n  \"agent_servers\": {\"agy\": {\"command\": \"agy_acp_server.par\" /* c */}},\n}\n", edit: swap(`"a": 1`, `"b": 3`),
			after: "{\n  \"b\": 3,\n  \"agent_servers\": {\"agy\": {\"command\": \"agy_acp_server.par\" /* c */}},\n}\n"},
		{name: "formatted by Zed", before: "{\n  \"a\": 1\n}\n", edit: swap(`"args": []`, `"args":   [ ]`), after: "{\n  \"a\": 1\n}\n"},
		{name: "of our entry", before: "{\n  \"a\": 1\n}\n", edit: swap(`"args": []`, `"args": ["-v"]`), fails: "was changed since acp-shim setup wrote it"},
		{name: "our entry is gone", before: "{\n  \"a\": 1\n}\n", edit: func(string) string { return "{}" }, after: "{}"},
		{name: "broken", before: "{\n  \"a\": 1\n}\n", edit: swap("}", ""), fails: "settings.json:12:1: it is no valid JSON"},
		{name: "gone", before: "{\n  \"a\": 1\n}\n", remove: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.put(zedFile, c.before)
			d.write("zed", Request{})
			if c.remove {
				os.Remove(d.at(zedFile))
			} else {
				d.put(zedFile, c.edit(d.read(zedFile)))
			}
			edited := ""
			if !c.remove {
				edited = d.read(zedFile)
			}
			u, err := client(t, "zed").Undo(d.m, "")
			if c.fails != "" {
				fails(t, err, c.fails)
				d.is(zedFile, edited)
				d.is(zedFile+backupEnd, c.before)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if u.Whole {
				t.Error("it says that the file is what it was")
			}
			if !c.remove {
				d.is(zedFile, c.after)
			}
			if left := d.files(".config/zed"); left != "settings.json" && left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

func swap(from, to string) func(string) string {
	return func(s string) string {
		if !strings.Contains(s, from) {
			panic(from + " is not in " + s)
		}
		return strings.Replace(s, from, to, 1)
	}
}

func TestUndoOfTwoWrites(t *testing.T) {
	before := "{\n  \"a\": 1\n}\n"
	t.Run("unchanged between", func(t *testing.T) {
		d := newDesk(t)
		d.put(zedFile, before)
		d.write("zed", Request{})
		d.write("zed", Request{Shim: "/elsewhere/acp-shim"})
		d.is(zedFile+backupEnd, before)
		d.write("zed", Request{Name: "other", Agent: []string{"x"}})
		if u := d.undo("zed"); !u.Whole || len(u.Entries) != 2 {
			t.Errorf("undone %+v", u)
		}
		d.is(zedFile, before)
	})
	t.Run("edited between", func(t *testing.T) {
		d := newDesk(t)
		d.put(zedFile, before)
		d.write("zed", Request{})
		d.put(zedFile, swap(`"a": 1`, `"a": 2`)(d.read(zedFile)))
		d.write("zed", Request{Shim: "/elsewhere/acp-shim"})
		if u := d.undo("zed"); u.Whole {
			t.Errorf("undone %+v", u)
		}
		d.is(zedFile, swap(`"a": 1`, `"a": 2`)(before))
	})
}

// TestUndoWithoutTheBackup takes the change out of the file as it is.
func TestUndoWithoutTheBackup(t *testing.T) {
	d := newDesk(t)
	d.put(zedFile, "{\n  \"a\": 1\n}\n")
	d.write("zed", Request{})
	os.Remove(d.at(zedFile) + backupEnd)
	if u := d.undo("zed"); u.Whole {
		t.Errorf("undone %+v", u)
	}
	d.is(zedFile, "{\n  \"a\": 1\n}\n")
}

func TestUndoOfNothing(t *testing.T) {
	d := newDesk(t)
	for _, c := range Clients() {
		if _, err := c.Undo(d.m, ""); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
	d.put(zedFile, "{}")
	d.put(zedFile+recordEnd, `{"client":"zed","changes":[{"path":[]}]}`)
	if _, err := client(t, "zed").Undo(d.m, ""); !errors.Is(err, ErrNothing) {
		t.Errorf("with a damaged record: %v", err)
	}
}

func TestBroken(t *testing.T) {
	for _, c := range []struct{ name, client, file, text, want string }{
		{"a bracket too few", "zed", zedFile, "{\n  \"a\": [1,\n}\n", "settings.json:3:1: it is no valid JSON"},
		{"cut off", "zed", zedFile, "{\n  \"a\": ", "settings.json:2:8: it is no valid JSON"},
		{"a list", "zed", zedFile, "// x\n[]\n", "settings.json:2:1: it has to be an object"},
		{"agents that are no object", "zed", zedFile, "{\n  \"agent_servers\": []\n}", `settings.json:2:20: "agent_servers" has to be an object`},
		{"agents twice", "zed", zedFile, "{\n  \"agent_servers\": {},\n  \"agent_servers\": {}\n}", `settings.json:3:3: "agent_servers" is there twice`},
		{"an entry twice", "zed", zedFile, `{"agent_servers": {"antigravity-acp": {"type":"registry"}, "antigravity-acp": {}}}`, `"agent_servers.antigravity-acp" is there twice`},
		{"brackets without end", "zed", zedFile, strings.Repeat("[", maxNested+1), "more brackets than any settings have"},
		{"deep", "zed", zedFile, strings.Repeat(`{"a":`, maxNested/2), "is no valid JSON"},
		{"a comment for pi", "pi", piFile, "{\n  // x\n  \"a\": 1\n}", "config.json:2:3: it has a comment or a comma too many"},
		{"a comma too many for acpx", "acpx", acpxFile, "{\n  \"a\": 1,\n}", "config.json:3:1: it has a comment or a comma too many"},
		{"a byte order mark for acpx", "acpx", acpxFile, "\xef\xbb\xbf{}", "config.json:1:1: it begins with a byte order mark"},
		{"acp that is no object", "pi", piFile, `{"acp": "x"}`, `config.json:1:9: "acp" has to be an object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.put(c.file, c.text)
			_, err := d.plan(c.client, Request{})
			fails(t, err, c.want, "it was not touched")
			d.is(c.file, c.text)
			if f := client(t, c.client).Detect(d.m); f.State != Broken && c.name != "acp that is no object" {
				t.Errorf("it is told to be %+v", f)
			}
		})
	}
}

func TestWriteErrors(t *testing.T) {
	d := newDesk(t)
	d.put(zedFile, "{}")
	os.Chmod(d.at(zedFile), 0o444)
	p, err := d.plan("zed", Request{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write()
	fails(t, err, "is read-only (mode 0444)", "it was not touched")
	d.is(zedFile, "{}")
	if left := d.files(".config/zed"); left != "settings.json" {
		t.Errorf("left behind: %s", left)
	}

	os.Chmod(d.at(zedFile), 0o644)
	d.put(zedFile, "{ }")
	_, err = p.Write()
	fails(t, err, "was changed at this moment by somebody else")
	d.is(zedFile, "{ }")

	d = newDesk(t)
	d.put(".config/zed", "a file in the way")
	p, err = d.plan("zed", Request{})
	if err == nil {
		_, err = p.Write()
	}
	fails(t, err, zedFile[:11])

	d = newDesk(t)
	os.MkdirAll(d.at(zedFile), 0o755)
	_, err = d.plan("zed", Request{})
	fails(t, err, "is no file")

	p, err = d.plan("jetbrains", Request{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Write()
	fails(t, err, "put the change in by hand")
}

func TestLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links take a privilege there")
	}
	d := newDesk(t)
	real := d.put("dotfiles/zed.json", "{}\n")
	os.Chmod(real, 0o600)
	os.MkdirAll(d.at(".config/zed"), 0o755)
	if err := os.Symlink("../../dotfiles/zed.json", d.at(zedFile)); err != nil {
		t.Fatal(err)
	}
	p := d.write("zed", Request{})
	if p.Real != real {
		t.Errorf("written to %s", p.Real)
	}
	if target, err := os.Readlink(d.at(zedFile)); err != nil || target != "../../dotfiles/zed.json" {
		t.Errorf("the link is %q, %v", target, err)
	}
	if !strings.Contains(d.read("dotfiles/zed.json"), shimPath) {
		t.Error("it is not in the file")
	}
	for _, name := range []string{"dotfiles/zed.json", "dotfiles/zed.json" + backupEnd, "dotfiles/zed.json" + recordEnd} {
		if st, err := os.Stat(d.at(name)); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, st.Mode(), err)
		}
	}
	d.undo("zed")
	d.is("dotfiles/zed.json", "{}\n")
	if _, err := os.Readlink(d.at(zedFile)); err != nil {
		t.Error("the link is gone")
	}

	// One that leads to nothing yet is written through as well.
	os.Remove(real)
	d.write("zed", Request{})
	if !strings.Contains(d.read("dotfiles/zed.json"), shimPath) {
		t.Error("it is not in the file")
	}

	os.Remove(d.at(zedFile))
	os.Symlink(filepath.Base(zedFile), d.at(zedFile))
	_, err := d.plan("zed", Request{})
	fails(t, err, "leads in a circle")
}

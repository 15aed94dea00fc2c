package state

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"acp-shim/proxy"
)

func TestSessionHasOneOwner(t *testing.T) {
	d, err := Open(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	one, _ := d.Sessions("agy", "/home", true)
	two, _ := d.Sessions("agy", "/home", true)
	other, _ := d.Sessions("agy", "/elsewhere", true)
	if _, err := one.Claim("s"); err != nil {
		t.Fatal(err)
	}
	if _, err := one.Claim("s"); err != nil {
		t.Errorf("the owner is refused: %v", err)
	}
	if _, err := two.Claim("s"); err == nil || !strings.Contains(err.Error(), "in use by another acp-shim (pid ") {
		t.Errorf("a second owner: %v", err)
	}
	if _, err := other.Claim("s"); err != nil {
		t.Errorf("the same id of another home is another session: %v", err)
	}
	one.Release("s")
	if _, err := two.Claim("s"); err != nil {
		t.Errorf("after its release: %v", err)
	}
}

func TestRecordIsKept(t *testing.T) {
	d, _ := Open(t.TempDir())
	s, _ := d.Sessions("agy", "", true)
	want := proxy.Record{ID: "s", Real: "r", Cwd: "/w", Config: []proxy.Setting{{Key: "model", Method: "session/set_config_option", Params: `{"configId":"model"}`}}}
	if err := s.Save(want); err != nil {
		t.Fatal(err)
	}
	again, _ := d.Sessions("agy", "", true)
	got, err := again.Claim("s")
	if err != nil || got == nil || got.Real != "r" || len(got.Config) != 1 || got.Config[0] != want.Config[0] {
		t.Errorf("got %+v, %v", got, err)
	}
	off, _ := d.Sessions("agy", "", false)
	again.Release("s")
	if got, _ := off.Claim("s"); got == nil || got.Config != nil || got.Real != "r" {
		t.Errorf("with remembering off: %+v", got)
	}
	entries, _ := filepath.Glob(filepath.Join(d.Path(), "sessions", "*", "*"))
	for _, e := range entries {
		if info, _ := os.Stat(e); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e, info.Mode())
		}
	}
}

func TestDamageIsForgotten(t *testing.T) {
	d, _ := Open(t.TempDir())
	if err := d.Learn("cancel", "agy 1", 2); err != nil {
		t.Fatal(err)
	}
	known := func() string { return string(d.Facts("cancel")["agy 1"]) }
	if known() != "2" {
		t.Errorf("got %q", known())
	}
	os.WriteFile(filepath.Join(d.Path(), "cancel.json"), []byte(`{"agy`), 0o600)
	if known() != "" {
		t.Error("half a file was believed")
	}
	if err := d.Learn("cancel", "agy 1", 1); err != nil || known() != "1" {
		t.Errorf("after damage: %q, %v", known(), err)
	}
}

// TestFactsThatCannotBeRead are not replaced by the only new one: that they cannot be
// read may pass.
func TestFactsThatCannotBeRead(t *testing.T) {
	d, _ := Open(t.TempDir())
	path := filepath.Join(d.Path(), "cancel.json")
	if err := os.Symlink("cancel.json", path); err != nil {
		t.Skip(err)
	}
	if err := d.Learn("cancel", "agy 1", 1); err == nil {
		t.Error("nobody was told")
	}
	if _, err := os.Readlink(path); err != nil {
		t.Errorf("what was there is gone: %v", err)
	}
}

// TestFactsOfAnotherClock: what is learned counts for seven days, whichever way the
// clock was set meanwhile, and not for years where it was wrong.
func TestFactsOfAnotherClock(t *testing.T) {
	d, _ := Open(t.TempDir())
	for _, c := range []struct {
		off    time.Duration
		counts bool
	}{{0, true}, {-6 * 24 * time.Hour, true}, {-8 * 24 * time.Hour, false}, {time.Hour, true}, {10 * 365 * 24 * time.Hour, false}} {
		at, _ := time.Now().Add(c.off).UTC().MarshalText()
		os.WriteFile(filepath.Join(d.Path(), "cancel.json"), []byte(`{"agy 1":{"at":"`+string(at)+`","value":2}}`), 0o600)
		if got := len(d.Facts("cancel")) == 1; got != c.counts {
			t.Errorf("learned %v from now: counts %v", c.off, got)
		}
		if err := d.Learn("cancel", "agy 2", 1); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(filepath.Join(d.Path(), "cancel.json")); strings.Contains(string(b), "agy 1") != c.counts {
			t.Errorf("learned %v from now, then something else: %s", c.off, b)
		}
	}
}

func TestWithoutADirectory(t *testing.T) {
	var d *Dir
	s, err := d.Sessions("agy", "", true)
	if err != nil {
		t.Fatal(err)
	}
	if rec, err := s.Claim("s"); rec != nil || err != nil {
		t.Errorf("got %v, %v", rec, err)
	}
	s.Release("s")
	if err := s.Save(proxy.Record{ID: "s"}); err != nil {
		t.Error(err)
	}
	if d.Learn("cancel", "x", 1) != nil || len(d.Facts("cancel")) > 0 {
		t.Error("something was kept nowhere")
	}
	if Path(func(string) string { return "" }) != "" {
		t.Error("a place was made up")
	}
}

// TestLocksDoNotPileUp opens and gives up many sessions.
func TestLocksDoNotPileUp(t *testing.T) {
	d, _ := Open(t.TempDir())
	s, _ := d.Sessions("agy", "", true)
	for _, id := range []string{"a", "b", "c"} {
		if _, err := s.Claim(id); err != nil {
			t.Fatal(err)
		}
		s.Release(id)
	}
	if left, _ := filepath.Glob(filepath.Join(d.Path(), "sessions", "*", "*.lock")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

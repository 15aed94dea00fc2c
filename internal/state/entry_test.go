package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"acp-shim/internal/lockfile"
	"acp-shim/proxy"
)

func open(t *testing.T) (*Dir, *Sessions) {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "a [state] directory"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Sessions("agy", "/home", true)
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func save(t *testing.T, s *Sessions, r proxy.Record) {
	t.Helper()
	if err := s.Save(r); err != nil {
		t.Fatal(err)
	}
}

// entries is all that is listed, each as a text.
func entries(t *testing.T, d *Dir) (list []string) {
	t.Helper()
	places, err := d.Places()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places {
		for _, e := range p.Entries() {
			list = append(list, fmt.Sprintf("%s/%s %s@%s %s model=%s mode=%s %v %s", e.ID, e.Real, e.Agent, e.Home, e.Cwd, e.Model, e.Mode, e.Options, e.Owner))
		}
	}
	return list
}

func TestEntries(t *testing.T) {
	d, s := open(t)
	save(t, s, proxy.Record{ID: "bare"})
	save(t, s, proxy.Record{ID: "mine", Real: "its", Cwd: "/w", Config: []proxy.Setting{
		{Key: "model", Method: "session/set_model", Params: `{"modelId":"flash"}`},
		{Key: "mode", Method: "session/set_mode", Params: `{"mode":"yolo"}`},
		{Key: "thought", Method: "session/set_config_option", Params: `{"configOptionId":"thought","value":"high"}`},
		{Key: "fast", Method: "session/set_config_option", Params: `{"type":"boolean","value":true}`},
		{Key: "odd", Method: "session/set_config_option", Params: `{}`},
	}})
	if _, err := s.Claim("bare"); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`mine/its agy@/home /w model=flash mode=yolo [{thought "high"} {fast true} {odd null}] `,
		fmt.Sprintf(`bare/bare agy@/home  model= mode= [] pid %d`, os.Getpid()),
	}
	if got := entries(t, d); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	s.Release("bare")
	save(t, s, proxy.Record{ID: "bare"})
	list := s.place.Entries()
	if list[0].ID != "bare" || time.Since(list[0].Used) > time.Minute || list[0].Owner != "" {
		t.Errorf("after its use: %+v", list)
	}
}

// TestUnknown has a directory that does not say what it belongs to, and a record
// that does not say when it was used.
func TestUnknown(t *testing.T) {
	d, s := open(t)
	save(t, s, proxy.Record{ID: "s"})
	if err := os.Remove(filepath.Join(s.place.dir, aboutFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.place.recordPath("s"), []byte(`{"id":"s"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	unknown := "[s/s @  model= mode= [] ]"
	if got := fmt.Sprint(entries(t, d)); got != unknown {
		t.Errorf("got %s", got)
	}
	if used := s.place.Entries()[0].Used; time.Since(used) > time.Minute {
		t.Errorf("used %v", used)
	}
	if _, err := d.Sessions("agy", "/home", true); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(entries(t, d)); got != "[s/s agy@/home  model= mode= [] ]" {
		t.Errorf("once it was opened again: %s", got)
	}
}

func TestDamagedRecordsAreNotListed(t *testing.T) {
	d, s := open(t)
	for name, text := range map[string]string{"a.json": `{"id":`, "b.json": `[]`, "c.json": `{"id":""}`, "d.txt": `{"id":"d"}`} {
		if err := os.WriteFile(filepath.Join(s.place.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := entries(t, d); got != nil {
		t.Errorf("got %q", got)
	}
	if got := entries(t, At(filepath.Join(t.TempDir(), "none"))); got != nil {
		t.Errorf("where there is no directory: %q", got)
	}
	if got := entries(t, nil); got != nil || (Place{}).Entries() != nil {
		t.Errorf("of nothing: %q", got)
	}
}

func TestForget(t *testing.T) {
	d, s := open(t)
	save(t, s, proxy.Record{ID: "s"})
	save(t, s, proxy.Record{ID: "other"})
	if _, err := s.Claim("s"); err != nil {
		t.Fatal(err)
	}
	place := d.Place("agy", "/home")
	var used *InUse
	if err := place.Forget("s"); !errors.As(err, &used) || used.Owner != fmt.Sprintf("pid %d", os.Getpid()) {
		t.Errorf("while it is in use: %v", err)
	}
	if len(entries(t, d)) != 2 {
		t.Fatal("it was forgotten while it was in use")
	}
	s.Release("s")
	if err := place.Forget("s"); err != nil {
		t.Error(err)
	}
	if got := place.Entries(); len(got) != 1 || got[0].ID != "other" {
		t.Errorf("left: %+v", got)
	}
	if files, _ := filepath.Glob(filepath.Join(d.Path(), "sessions", "*", "*.lock")); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
}

// TestOwnNeedsALock: what mends a conversation must not go on without a lock,
// where a shim may.
func TestOwnNeedsALock(t *testing.T) {
	d, s := open(t)
	release, err := d.Place("agy", "/home").Own("s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim("s"); err == nil {
		t.Error("a shim has the session as well")
	}
	release()
	if _, err := s.Claim("s"); err != nil {
		t.Errorf("after the release: %v", err)
	}
	if _, err := (Place{}).Own("s"); err == nil {
		t.Error("nothing was locked, and no error says so")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := At(file).Place("agy", "/home").Own("s"); err == nil {
		t.Error("nothing can be locked there, and no error says so")
	}
}

// TestLookingDisturbsNobody has one look at a lock all the time while another
// takes it and gives it up.
func TestLookingDisturbsNobody(t *testing.T) {
	d, s := open(t)
	place, stop, stopped := d.Place("agy", "/home"), make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				lockfile.Owner(place.lockPath("s"))
			}
		}
	}()
	for range 300 {
		if _, err := s.Claim("s"); err != nil {
			t.Error(err)
			break
		}
		s.Release("s")
	}
	close(stop)
	<-stopped
}

func TestPrune(t *testing.T) {
	_, s := open(t)
	save(t, s, proxy.Record{ID: "old"})
	save(t, s, proxy.Record{ID: "new"})
	save(t, s, proxy.Record{ID: "held"})
	if _, err := s.Claim("held"); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(s.place.dir, short("killed")+".lock")
	half := filepath.Join(s.place.dir, newFile+"1")
	for _, path := range []string{stale, half} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-rememberFor - time.Hour)
	for _, path := range []string{stale, half, s.place.recordPath("old"), s.place.lockPath("held"), filepath.Join(s.place.dir, aboutFile)} {
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
	}
	s.place.prune()
	files, _ := os.ReadDir(s.place.dir)
	got := map[string]bool{}
	for _, f := range files {
		got[f.Name()] = true
	}
	for _, path := range []string{aboutFile, s.place.recordPath("new"), s.place.recordPath("held"), s.place.lockPath("held")} {
		if !got[filepath.Base(path)] {
			t.Errorf("%s is gone", path)
		}
	}
	if len(got) != 4 {
		t.Errorf("left: %v", got)
	}
}

package state

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"acp-shim/usage"
)

func TestBooks(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 1, 31, 23, 59, 0, 0, time.UTC)
	var group sync.WaitGroup
	for shim := range 4 {
		d := At(dir)
		group.Go(func() {
			for i := range 50 {
				u := Used{At: at.Add(time.Duration(i) * time.Minute), Session: fmt.Sprint(shim), Model: "m", Tokens: usage.Tokens{Input: 1, Total: 1}}
				if err := d.Book(u); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	// A crash has cut a line, and somebody has put something else there.
	cut, err := os.OpenFile(filepath.Join(dir, usedDir, "2026-02.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(cut, `{"at":"2026-02-01T00:00:00Z","sess`)
	cut.Close()
	os.WriteFile(filepath.Join(dir, usedDir, "notes.jsonl"), []byte(`{"at":"2026-02-01T00:00:00Z"}`), 0o600)
	n, months := map[string]int{}, map[time.Month]int{}
	if err := At(dir).Books(func(u Used) { n[u.Session]++; months[u.At.Month()]++ }); err != nil {
		t.Fatal(err)
	}
	if len(n) != 4 || n["0"] != 50 || n["3"] != 50 || months[1] != 4 || months[2] != 196 {
		t.Errorf("%v %v", n, months)
	}
}

func TestOldBooksAreRemoved(t *testing.T) {
	dir := t.TempDir()
	d := At(dir)
	for i := range 30 {
		if err := d.Book(Used{At: time.Date(2024, time.Month(i+1), 1, 0, 0, 0, 0, time.UTC), Session: "s"}); err != nil {
			t.Fatal(err)
		}
	}
	list := books(filepath.Join(dir, usedDir))
	if len(list) != usedMonths+1 || list[len(list)-1] != "2026-06.jsonl" {
		t.Errorf("%d: %v", len(list), list)
	}
}

func TestNoBooksWithoutADirectory(t *testing.T) {
	var none *Dir
	if err := none.Book(Used{At: time.Now()}); err != nil {
		t.Error(err)
	}
	if err := none.Books(func(Used) { t.Error("a line") }); err != nil {
		t.Error(err)
	}
}

// TestDamagedBooks passes over what no shim has written, and reads the rest.
func TestDamagedBooks(t *testing.T) {
	dir := t.TempDir()
	d, at := At(dir), time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	whole := Used{At: at, Session: "s", Tokens: usage.Tokens{Input: 2, Total: 2}}
	for _, line := range []string{`{"at":"2026-01-31T00:00:00Z","input":-5}`, `{"at":"2026-01-31T00:00:00Z","input":9223372036854775807}`,
		`{"at":"2026-01-31T00:00:00Z","cost":1e300}`, `{"at":"2026-01-31T00:00:00Z","session":"` + strings.Repeat("s", 1<<20) + `"}`, "null", "\x00"} {
		if err := d.Book(whole); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(dir, usedDir, "2026-01.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(f, line)
		f.Close()
	}
	n := 0
	if err := d.Books(func(u Used) { n += int(u.Input) }); err != nil || n != 12 {
		t.Errorf("%d, %v", n, err)
	}
}

// TestLongNames has a turn of an agent with names of any length read again.
func TestLongNames(t *testing.T) {
	d, long := At(t.TempDir()), strings.Repeat("m", 1<<20)
	if err := d.Book(Used{At: time.Now(), Session: "s", Model: long, Build: long}); err != nil {
		t.Fatal(err)
	}
	n := 0
	if err := d.Books(func(u Used) { n += len(u.Model) }); err != nil || n != maxName {
		t.Errorf("%d, %v", n, err)
	}
}

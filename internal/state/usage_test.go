package state

import (
	"fmt"
	"os"
	"path/filepath"
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

package show

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func part(n int) string {
	return strings.Replace(header, `"pid":1`, fmt.Sprintf(`"pid":1,"run":"r","part":%d`, n), 1) + "\n"
}

func note(seq int) string {
	return fmt.Sprintf(`{"seq":%d,"t":%d,"event":"note","text":"x"}`, seq, seq)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFollow writes a capture while it is followed: a line in two pieces, the next
// part of the run among files that are none of it, and a new capture in the place of
// the old one.
func TestFollow(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "run.jsonl"), filepath.Join(dir, "run-r.part002.jsonl")
	write(t, first, part(1)+note(1)+"\n"+note(2)[:10])
	// The steps are done when the line that comes before them was read.
	steps := map[uint64]func(){
		1: func() { write(t, first, note(2)[10:]+"\n") },
		2: func() {
			write(t, first, note(3)+"\n")
			write(t, filepath.Join(dir, "other.part002.jsonl"), strings.Replace(part(2), `"r"`, `"q"`, 1)+note(99)+"\n")
			write(t, second, part(2)+note(4)+"\n")
		},
		4: func() {
			again := filepath.Join(dir, "again")
			write(t, again, part(1)+note(5)+"\n")
			if err := os.Rename(again, second); err != nil {
				t.Fatal(err)
			}
		},
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	steps[5] = cancel
	var got []string
	for e, err := range Follow(ctx, first, func(bool) {}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Header != nil {
			got = append(got, fmt.Sprintf("part %d", e.Header.Part))
			continue
		}
		got = append(got, fmt.Sprint(e.Seq))
		if do := steps[e.Seq]; do != nil {
			do()
		}
	}
	same(t, got, "part 1", "1", "2", "3", "part 2", "4", "part 1", "5")
}

// TestFollowIdle: what is held back while a stream goes on is shown when it rests.
func TestFollowIdle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	write(t, path, part(1)+note(1)+"\n")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	n, idle := 0, 0
	for _, err := range Follow(ctx, path, func(long bool) {
		if n != 2 {
			t.Errorf("%d lines were read before it rests", n)
		}
		if long {
			idle++
			cancel()
		}
	}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if idle != 1 {
		t.Errorf("it has rested %d times", idle)
	}
}

func TestFollowNothing(t *testing.T) {
	for _, err := range Follow(t.Context(), filepath.Join(t.TempDir(), "none"), func(bool) {}) {
		if err == nil || !strings.Contains(err.Error(), "opening the capture") {
			t.Errorf("it says %v", err)
		}
		return
	}
	t.Error("it says nothing")
}

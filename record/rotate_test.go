package record

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"acp-shim/proxy"
)

// rotating is a writer to disks of memory.
func rotating(opt Options) (*Writer, *[]*disk) {
	first := newDisk()
	disks := &[]*disk{first}
	return newWriterOn(&shelf{}, first, "part 1", opt, func(n int) (file, string, error) {
		d := newDisk()
		*disks = append(*disks, d)
		return d, fmt.Sprintf("part %d", n), nil
	}), disks
}

// joined checks the parts of a run, and makes one capture of them that is as if
// it had not been rotated.
func joined(t *testing.T, texts []string) string {
	t.Helper()
	var first *Header
	all := ""
	for i, text := range texts {
		list := entries(t, text)
		h := list[0].Header
		if h == nil || h.Part != i+1 || h.Run == "" {
			t.Fatalf("part %d begins with %+v", i+1, list[0])
		}
		if first == nil {
			first = h
			all = text
			continue
		}
		if h.Run != first.Run || !h.Start.Equal(first.Start) {
			t.Errorf("part %d is of another run: %+v", i+1, h)
		}
		_, rest, _ := strings.Cut(text, "\n")
		if rest == "" {
			t.Errorf("part %d is empty", i+1)
		}
		all += rest
	}
	return all
}

func TestRotateSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disks := rotating(Options{RotateSize: 2000, Start: time.Now()})
		for n := range 100 {
			w.Frame(note(n))
			if n%7 == 0 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if w.Path() != fmt.Sprintf("part %d", len(*disks)) {
			t.Errorf("it writes to %s of %d", w.Path(), len(*disks))
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for i, d := range *disks {
			texts = append(texts, d.text())
			if n := len(d.text()); n > 2400 || n < 1900 && i < len(*disks)-1 {
				t.Errorf("part %d has %d bytes", i+1, n)
			}
			if !d.synced || !d.closed {
				t.Errorf("part %d is not synced or not closed", i+1)
			}
		}
		if len(texts) < 4 {
			t.Errorf("%d parts", len(texts))
		}
		list := entries(t, joined(t, texts))
		if lost, _ := accounts(t, list); lost != 0 || len(list) != 102 {
			t.Errorf("%d entries", len(list))
		}
	})
}

func TestRotateAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disks := rotating(Options{RotateAge: time.Hour, Start: time.Now(), Info: []byte(`{"name":"given"}`)})
		w.Frame(note(1))
		w.Frame(&proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: []byte(`{"id":1,"result":{"agentInfo":{"name":"antigravity-acp","version":"1.3.0"}}}` + "\n")})
		time.Sleep(59 * time.Minute)
		w.Frame(note(2))
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if len(*disks) != 1 {
			t.Fatal("an idle capture was rotated")
		}
		w.Frame(note(3))
		time.Sleep(time.Minute)
		w.Frame(note(4))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if len(*disks) != 2 {
			t.Fatalf("%d parts", len(*disks))
		}
		joined(t, []string{(*disks)[0].text(), (*disks)[1].text()})
		list := entries(t, (*disks)[1].text())
		if info := string(list[0].Header.Agent.Info); info != `{"name":"antigravity-acp","version":"1.3.0"}` {
			t.Errorf("the second part says of the agent %s", info)
		}
		if list[1].T < 10*time.Hour || list[1].Seq != 4 || len(list) != 4 {
			t.Errorf("it begins with %+v", list[1])
		}
	})
}

// TestRotateFails: where no new file can be made all goes on in the old one, and
// that is told, but a capture that must be whole is not in danger.
func TestRotateFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, next := newDisk(), newDisk()
		tries := 0
		told := make(chan error, 9)
		w := newWriterOn(&shelf{}, d, "f", Options{
			RotateSize: 500, Start: time.Now(), Warn: func(err error) { told <- err },
			Strict: true, Stop: func(err error) { t.Error(err) },
		}, func(n int) (file, string, error) {
			if tries++; tries != 3 {
				return nil, "", errors.New("no room")
			}
			return next, "g", nil
		})
		for n := range 300 {
			w.Frame(note(n))
			time.Sleep(100 * time.Millisecond)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-told; !strings.Contains(err.Error(), "no room") {
			t.Error(err)
		}
		synctest.Wait()
		if len(told) != 1 { // of the second part
			t.Errorf("told %d times more", len(told))
		}
		if lost, _ := accounts(t, entries(t, joined(t, []string{d.text(), next.text()}))); lost != 0 || tries < 3 {
			t.Errorf("%d frames lost, %d tries", lost, tries)
		}
	})
}

// TestRotateOnFullDisk: a part that could not be written to its end is not left.
func TestRotateOnFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, disks := rotating(Options{RotateSize: 1000, Start: time.Now(), Queue: 1 << 20})
		synctest.Wait()
		first := (*disks)[0]
		first.set(func() { first.room = 650 })
		for n := range 50 {
			w.Frame(note(n))
			time.Sleep(20 * time.Millisecond)
		}
		if len(*disks) != 1 {
			t.Error("rotated in the middle of a line")
		}
		first.set(func() { first.room = 1 << 20 })
		time.Sleep(time.Minute)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, d := range *disks {
			texts = append(texts, d.text())
		}
		if lost, _ := accounts(t, entries(t, joined(t, texts))); lost != 0 || len(texts) < 3 {
			t.Errorf("%d frames lost, %d parts", lost, len(texts))
		}
	})
}

// TestRoundTripRotated: a raw capture without a limit gives back both byte
// streams, whichever lines crossed and whatever became of them, also when it was
// cut in parts, compressed, and read back from the files.
func TestRoundTripRotated(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for seed := range uint64(40) {
		dir := t.TempDir()
		path := dir + string(filepath.Separator)
		if seed%2 == 1 {
			path = filepath.Join(dir, "c.jsonl")
		}
		w, err := Create(path, Options{Raw: true, RotateSize: int64(200 + rng.IntN(3000)), Compress: seed%4 > 1})
		if err != nil {
			t.Fatal(err)
		}
		p := &traffic{rng: rand.New(rand.NewPCG(seed, 0)), tap: w, from: map[proxy.Peer][]byte{}, to: map[proxy.Peer][]byte{}}
		for range 100 {
			line := []byte(odd[rng.IntN(len(odd))])
			if rng.IntN(2) == 0 {
				p.line(proxy.Client, proxy.AgentPeer(1), line)
			} else {
				p.line(proxy.AgentPeer(1), proxy.Client, line)
			}
			if rng.IntN(10) == 0 {
				time.Sleep(time.Millisecond)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(partsOf(t, w.Path()), "")
		from, to := streams(t, text)
		for _, peer := range []proxy.Peer{proxy.Client, proxy.AgentPeer(1)} {
			if !bytes.Equal(from[peer], p.from[peer]) {
				t.Fatalf("seed %d, from %d: got\n%q, want\n%q", seed, peer, from[peer], p.from[peer])
			}
		}
		for _, peer := range []proxy.Peer{proxy.Client, proxy.AgentPeer(1), proxy.AgentPeer(2), proxy.Nobody} {
			if !bytes.Equal(to[peer], p.to[peer]) {
				t.Fatalf("seed %d, to %d: got\n%q, want\n%q", seed, peer, to[peer], p.to[peer])
			}
		}
		for _, part := range ls(t, dir) {
			if strings.HasSuffix(part, ".tmp") {
				t.Errorf("%s is left", part)
			}
		}
	}
}

// partsOf reads the parts of a run, decoded.
func partsOf(t *testing.T, path string) []string {
	t.Helper()
	paths, err := Parts(path)
	if err != nil {
		if paths, err = Parts(path + compressed); err != nil {
			t.Fatal(err)
		}
	}
	var texts []string
	for _, p := range paths {
		texts = append(texts, decoded(t, p))
	}
	joined(t, texts)
	return texts
}

func ls(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

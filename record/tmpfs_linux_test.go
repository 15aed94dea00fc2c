package record

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"acp-shim/proxy"
)

// TestRealFullDisk fills a small disk, as only a system can be full: the traffic is
// not held up, what is missing is named once there is room again, and there is not
// half a line.
func TestRealFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		t.Skip("a disk cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	full := make(chan error, 1)
	w, err := Create(dir+"/", Options{Queue: 128 << 10, RotateSize: 100 << 10, Compress: true, Warn: func(err error) {
		select {
		case full <- err:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 160<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	frame := &proxy.Frame{From: proxy.AgentPeer(1), To: proxy.Client, Bytes: []byte(`{"text":"` + strings.Repeat("words and ", 100) + `"}` + "\n")}
	slowest, sent := time.Duration(0), 0
	for stop := time.Now().Add(300 * time.Millisecond); time.Now().Before(stop); sent++ {
		start := time.Now()
		w.Frame(frame)
		slowest = max(slowest, time.Since(start))
		if sent%20 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	if err := <-full; !strings.Contains(err.Error(), syscall.ENOSPC.Error()) {
		t.Errorf("told %v", err)
	}
	if slowest > 100*time.Millisecond {
		t.Errorf("a frame waited for %v", slowest)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		w.mu.Lock()
		recovered := w.trouble == "" && !w.lost.any()
		w.mu.Unlock()
		if recovered {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it did not go on")
		}
		time.Sleep(10 * time.Millisecond)
	}
	w.Frame(note(1))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	list := entries(t, joined(t, partsOf(t, w.Path())))
	lost, _ := accounts(t, list)
	got := uint64(0)
	for _, e := range list {
		if e.IsFrame() {
			got++
		}
	}
	if lost == 0 || got+lost != uint64(sent)+1 {
		t.Errorf("%d frames are there and %d lost, of %d", got, lost, sent+1)
	}
	t.Logf("%d frames, %d lost, the slowest took %v", sent, lost, slowest)
}

//go:build unix

package doctor

import (
	"syscall"
	"testing"
)

// A FIFO in the place of the settings would keep who opens it waiting for a writer.
func TestSettingsThatAreAFIFO(t *testing.T) {
	w := newWard(t)
	w.remove("home/.gemini/antigravity-acp/settings.json")
	if err := syscall.Mkfifo(w.path("home/.gemini/antigravity-acp/settings.json"), 0o600); err != nil {
		t.Skip(err)
	}
	if f := w.look("login")[0]; f.Level != Problem {
		t.Errorf("%+v", f)
	}
	if f := w.look("token")[0]; f.Level != OK {
		t.Errorf("%+v", f)
	}
}

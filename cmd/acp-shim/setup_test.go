package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestFleeting tells a shim that will be gone from one in a home below /tmp.
func TestFleeting(t *testing.T) {
	for _, row := range []struct{ path, temp, home, want string }{
		{"/home/me/.local/bin/acp-shim", "/tmp", "/home/me", ""},
		{"/tmp/acp-shim", "/tmp", "/home/me", "temporary"},
		{"/tmp/acp-shim", "/tmp", "", "temporary"},
		{"/tmp/me/.local/bin/acp-shim", "/tmp", "/tmp/me", ""},
		{"/tmp/other/acp-shim", "/tmp", "/tmp/me", "temporary"},
		{"/home/me/tmp/acp-shim", "/home/me/tmp", "/home/me", "temporary"},
		{"/tmp/me/go-build1/acp-shim", "/tmp", "/tmp/me", "go run"},
	} {
		p := filepath.FromSlash(row.path)
		got := fleeting(p, p, filepath.FromSlash(row.temp), filepath.FromSlash(row.home))
		if (got == "") != (row.want == "") || !strings.Contains(got, row.want) {
			t.Errorf("%+v: %q", row, got)
		}
	}
}

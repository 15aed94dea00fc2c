//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"acp-shim/internal/settings"
)

func TestServersInAFIFO(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := doctorServers(&settings.Settings{MCPConfig: path}); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"acp-shim/internal/scripts"
)

// TestWalk takes a new user from an empty home to a conversation.
func TestWalk(t *testing.T) {
	cli := module(t, "acpx", "dist", "cli.js")
	testscript.Run(t, testscript.Params{
		Files: []string{"testdata/walk.txt"},
		Setup: func(env *testscript.Env) error {
			bin, home := filepath.Join(env.WorkDir, "bin"), filepath.Join(env.WorkDir, "home")
			for _, dir := range []string{bin, home, filepath.Join(env.WorkDir, "tmp")} {
				if err := os.Mkdir(dir, 0o755); err != nil {
					return err
				}
			}
			if err := os.Symlink(shim, filepath.Join(bin, "acp-shim")); err != nil {
				return err
			}
			acpx := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' \"$@\"\n", node, cli)
			if err := os.WriteFile(filepath.Join(bin, "acpx"), []byte(acpx), 0o755); err != nil {
				return err
			}
			env.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			env.Setenv("HOME", home)
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, "tmp"))
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"browse": scripts.Browse, "zip": scripts.Zip},
	})
}

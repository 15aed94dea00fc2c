package main

import (
	"os"

	"acp-shim/fixtures/sim"
)

func command(args []string) int {
	if args[0] == "sim" {
		return sim.Main(args[1:], os.Stdin, os.Stdout, os.Stderr)
	}
	return 2
}

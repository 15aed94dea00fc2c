package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
)

// builds are the simulated agents, of which every process is one or another: a
// build that honours a cancel and one that does not, one that starts slowly, one
// that does not end, one that dies at once.
var builds = [][]string{
	{"1.3.0"}, {"1.3.0"}, {"1.3.0"}, {"1.1.1"}, {"1.1.1"}, {"rc01"}, {"1.2.1"},
	{"1.1.1", "--cancel", "error"}, {"1.1.1", "--cancel", "late=400ms"}, {"1.1.1", "--cancel", "race"},
	{"1.1.1", "--cancel", "wedge"}, {"1.1.1", "--cancel", "refuse"},
	{"1.3.0", "--start-delay", "700ms"}, {"1.3.0", "--linger", "5s", "--eof", "ignore"},
	{"1.3.0", "--checkpoint"}, {"1.3.0", "--raw-ws"}, {"rc01", "--eof", "late=1s"},
}

// agentMain becomes one of them, once in a while one that cannot even start.
func agentMain(args []string) {
	seed, _ := strconv.ParseUint(args[1], 10, 64)
	r := rand.New(rand.NewPCG(seed, uint64(os.Getpid())))
	if r.IntN(1500) == 0 {
		fmt.Fprintln(os.Stderr, "soak: this one does not start")
		os.Exit(1)
	}
	argv := append([]string{args[0], "sim", "--store-empty", "--build"}, builds[r.IntN(len(builds))]...)
	err := syscall.Exec(args[0], argv, os.Environ())
	fmt.Fprintln(os.Stderr, "soak:", err)
	os.Exit(1)
}

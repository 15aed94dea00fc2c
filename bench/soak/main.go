// Command soak keeps one shim busy for as long as it is told to, and holds it to
// what must not change with time: each request is answered exactly once, nothing
// of a cancelled turn comes after its answer, goroutines, descriptors, memory and
// processes are in the end what they were after the first minute, and the capture
// has all that the client got.
//
//	go run ./soak -for 1h
//
// The same seed gives the same choices, as far as the clock lets it.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "__agent" {
		agentMain(os.Args[2:])
	}
	opt := options{}
	flag.DurationVar(&opt.length, "for", time.Hour, "how long")
	flag.IntVar(&opt.sessions, "sessions", 32, "sessions at a time")
	flag.IntVar(&opt.agents, "max-agents", 0, "the shim's --max-agents; its default and 40 by turns if 0")
	flag.Uint64Var(&opt.seed, "seed", 0, "what is chosen by; any if 0")
	flag.StringVar(&opt.shim, "shim", "", "the shim's binary; built from ../ if empty")
	flag.BoolVar(&opt.race, "race", false, "build the shim with the race detector")
	flag.StringVar(&opt.keep, "keep", "", "a directory for what is left: capture, log, stderr")
	flag.Parse()
	if opt.seed == 0 {
		opt.seed = rand.Uint64()>>1 + 1
	}
	fmt.Printf("soak: -for %v -sessions %d -seed %d\n", opt.length, opt.sessions, opt.seed)
	if err := soak(opt); err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\nsoak: to have it again: -for %v -sessions %d -seed %d\n", err, opt.length, opt.sessions, opt.seed)
		os.Exit(1)
	}
}

type options struct {
	length           time.Duration
	sessions, agents int
	seed             uint64
	shim, keep       string
	race             bool
}

func soak(opt options) error {
	dir, err := os.MkdirTemp("", "acp-shim-soak-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if opt.keep != "" {
		dir = opt.keep
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if opt.shim == "" {
		opt.shim = filepath.Join(dir, "acp-shim")
		args := []string{"build", "-o", opt.shim}
		if opt.race {
			args = append(args, "-race")
		}
		build := exec.Command("go", append(args, "./cmd/acp-shim")...)
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the shim: %v\n%s", err, out)
		}
	}
	if opt.shim, err = filepath.Abs(opt.shim); err != nil {
		return err
	}
	// As many processes as it has by default, which are given from session to
	// session all the time, and one for each.
	for i, agents := range []int{6, 40} {
		if opt.agents > 0 {
			agents = opt.agents
		}
		length := opt.length
		if opt.agents == 0 {
			length /= 2
		}
		r := &run{options: opt, agents: agents, dir: filepath.Join(dir, fmt.Sprint("agents-", agents)), length: length,
			random: rand.New(rand.NewPCG(opt.seed, uint64(i)))}
		if err := r.all(); err != nil {
			return fmt.Errorf("with %d agents: %w", agents, err)
		}
		if opt.agents > 0 {
			break
		}
	}
	fmt.Println("\nsoak: all well: each request answered once, nothing late, nothing left, and what it took in the end is within the bounds above")
	return nil
}

// within is any time up to d.
func within(r *rand.Rand, d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }

// Command bench measures what the shim costs, as ratios to the least that any
// relay written in Go can cost.
//
// Single figures swing tenfold on a shared machine, so none is reported: one
// live instance of every program under comparison is kept, short blocks go
// through them in random order, all of it pinned to one CPU, and what is printed
// is the median, with its quartiles, of the ratio to the floor within a round.
// Two equal floors show how far apart equal programs come out.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "__agent":
			agentMain()
			return
		case "__floor":
			floorMain(os.Args[2:])
			return
		case "__copy":
			copyMain(os.Args[2:])
			return
		case "__lines":
			linesMain(os.Args[2:])
			return
		case "__hello":
			os.Stdout.WriteString("hello\n")
			return
		}
	}
	opt := options{}
	short := flag.Bool("short", false, "few rounds, to see that it works")
	flag.IntVar(&opt.rounds, "rounds", 60, "rounds")
	flag.IntVar(&opt.cpu, "cpu", 1, "the CPU that everything is pinned to; -1: none")
	flag.StringVar(&opt.shim, "shim", "", "the shim's binary; built from ../ if empty")
	flag.BoolVar(&opt.markdown, "md", false, "print the table as Markdown")
	cancels := flag.Int("cancels", 0, "how long a cancel takes, in so many runs of each kind, instead of all else")
	flag.Parse()
	if *cancels > 0 {
		if err := cancelTimes(*cancels); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	if *short {
		opt.rounds = 6
	}
	if err := bench(opt); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds   int
	cpu      int
	shim     string
	markdown bool
}

func bench(opt options) error {
	dir, err := os.MkdirTemp("", "acp-shim-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if opt.shim == "" {
		opt.shim = filepath.Join(dir, "acp-shim")
		build := exec.Command("go", "build", "-o", opt.shim, "./cmd/acp-shim")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the shim: %v\n%s", err, out)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := pin(opt.cpu); err != nil {
		fmt.Fprintln(os.Stderr, "bench: not pinned to a CPU:", err)
	}
	list := contenders(self, opt.shim, dir)
	fmt.Printf("%s, %s/%s, %d CPUs, pinned to %s, %d rounds\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), strconv.Itoa(opt.cpu), opt.rounds)
	t, err := measure(list, opt.rounds)
	if err != nil {
		return err
	}
	t.print(os.Stdout, opt.markdown)
	if err := large(list, os.Stdout); err != nil {
		return err
	}
	return starts(self, opt.shim, dir, opt.rounds, os.Stdout)
}

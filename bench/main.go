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
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 {
		as := map[string]func(){
			"__agent": agentMain,
			"__floor": func() { floorMain(ofPipe, os.Args[2:]) },
			"__large": func() { floorMain(largePipe, os.Args[2:]) },
			"__copy":  func() { copyMain(os.Args[2:]) },
			"__lines": func() { linesMain(os.Args[2:]) },
			"__sdk":   func() { sdkMain(os.Args[2:]) },
			"__hello": func() { os.Stdout.WriteString("hello\n") },
		}
		if f := as[os.Args[1]]; f != nil {
			f()
			return
		}
	}
	opt := options{}
	flag.BoolVar(&opt.short, "short", false, "few rounds and no peers of npm, to see that it works")
	flag.IntVar(&opt.rounds, "rounds", 40, "rounds")
	flag.StringVar(&opt.shim, "shim", "", "the shim's binary; built from ../ if empty")
	json := flag.Bool("json", false, "print JSON")
	md := flag.Bool("md", false, "print the tables as Markdown")
	flag.StringVar(&opt.only, "only", "", "measure the ratios alone, and of programs alone whose names match this pattern")
	cancels := flag.Int("cancels", 0, "how long a cancel takes, in so many runs of each kind, instead of all else")
	flag.Usage = func() {
		fmt.Fprint(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := opt.check(flag.Args(), *json && *md, *cancels); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	form := "text"
	if *md {
		form = "md"
	}
	if *json {
		form = "json"
	}
	var err error
	if *cancels > 0 {
		err = cancelTimes(*cancels)
	} else {
		err = bench(opt, form)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	rounds int
	shim   string
	short  bool
	only   string
}

func bench(opt options, form string) error {
	dir, err := os.MkdirTemp("", "acp-shim-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	interrupted(dir)
	s := setting{dir: dir, shim: opt.shim}
	for _, d := range []string{"state", "config", ".gemini"} {
		if err := os.MkdirAll(filepath.Join(dir, "home", d), 0o700); err != nil {
			return err
		}
	}
	if s.shim == "" {
		s.shim = filepath.Join(dir, "acp-shim")
		build := exec.Command("go", "build", "-o", s.shim, "./cmd/acp-shim")
		// As it is released: a program without C needs no registration of the C
		// library's at each switch.
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("building the shim: %v\n%s", err, out)
		}
	}
	if s.self, err = os.Executable(); err != nil {
		return err
	}
	r := &result{Machine: fmt.Sprintf("%s, %s/%s, %d CPUs", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), Rounds: opt.rounds}
	large, idle, many := 5, 10, 10_000_000
	if opt.short {
		r.Rounds, large, idle, many = 4, 1, 2, 500_000
		r.Missing = append(r.Missing, "the peers of npm, in a short run")
	} else if err := installPeers(); err != nil {
		r.Missing = append(r.Missing, "the peers of npm: "+err.Error())
	} else {
		s.peers = true
	}
	if opt.only != "" {
		if err := s.some(r, opt.only); err != nil {
			return err
		}
	} else if err := s.run(r, large, idle, many); err != nil {
		return err
	}
	return r.print(os.Stdout, form)
}

// run measures all of it. Everything but what says otherwise is pinned to one CPU.
func (s setting) run(r *result, largeRuns, idleSeconds, many int) error {
	one, two := []int{runtime.NumCPU() - 1}, []int{0, 1}
	if err := pin(one); err != nil {
		r.Missing = append(r.Missing, "anything on a CPU of its own: "+err.Error())
	}
	list := s.contenders()
	progress("pipes, one CPU")
	main, rates, err := ratios("ratios to the floor, on pipes and one CPU", list, r.Rounds, pipes)
	if err != nil {
		return err
	}
	r.Tables = append(r.Tables, main)
	few := append([]contender{s.under(floor, s.self, "__floor")}, s.shims()...)
	progress("sockets")
	sock, _, err := ratios("the same on pairs of sockets", few, max(r.Rounds/2, 4), sockets)
	if err != nil {
		return err
	}
	progress("frames of 20 MiB")
	if largeRuns == 1 { // in short
		list = slices.DeleteFunc(slices.Clone(list), func(c contender) bool {
			return !slices.Contains([]string{floor, asUsed, plain, "tee both ways"}, c.name)
		})
	}
	big, err := large(list, largeRuns)
	if err != nil {
		return err
	}
	progress("starts")
	begin, err := s.starts(list, max(r.Rounds/2, 4))
	if err != nil {
		return err
	}
	progress("idle")
	still, err := s.idle(idleSeconds)
	if err != nil {
		return err
	}
	progress("growth")
	growth, err := s.growth(many)
	if err != nil {
		return err
	}
	r.Tables = append(r.Tables, sock, big, begin, still, growth)
	if runtime.NumCPU() > 1 {
		if err := s.onTwo(r, few, two); err != nil {
			return err
		}
	}
	s.goals(r, main, big, begin, still, growth, rates)
	return nil
}

// progress tells whoever waits, since all of it takes a quarter of an hour.
func progress(what string) { fmt.Fprintln(os.Stderr, "bench: "+what) }

const usage = `bench compares acp-shim with the least that a relay written in Go can cost, and with
its peers, and prints ratios. All of it takes some ten minutes, with -short two; the
peers of npm are fetched for the former. See the section "How fast" of README.md.

`

// check finds what makes no sense before anything is built.
func (o options) check(args []string, two bool, cancels int) error {
	switch {
	case len(args) > 0:
		return fmt.Errorf("%q: there are flags only; see -h", args[0])
	case two:
		return errors.New("-json and -md: one of them")
	case o.rounds < 1:
		return fmt.Errorf("-rounds %d: at least 1", o.rounds)
	case cancels < 0:
		return fmt.Errorf("-cancels %d: at least 1", cancels)
	}
	if _, err := regexp.Compile(o.only); err != nil {
		return fmt.Errorf("-only is a regular expression: %w", err)
	}
	return nil
}

// interrupted removes the directory, with all that is in it, when somebody gives up.
func interrupted(dir string) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-c
		fmt.Fprintln(os.Stderr, "bench: interrupted; nothing was measured")
		os.RemoveAll(dir)
		os.Exit(130)
	}()
}

// some measures the ratios of some programs on one CPU.
func (s setting) some(r *result, pattern string) error {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(s.contenders(), func(c contender) bool { return c.name != floor && !re.MatchString(c.name) })
	if len(list) < 2 {
		var names []string
		for _, c := range s.contenders() {
			names = append(names, c.name)
		}
		return fmt.Errorf("no program is called like %q; there are: %s", pattern, strings.Join(names, "; "))
	}
	if err := pin([]int{runtime.NumCPU() - 1}); err != nil {
		return err
	}
	t, _, err := ratios("ratios to the floor, on pipes and one CPU", list, r.Rounds, pipes)
	r.Tables = append(r.Tables, t)
	return err
}

// onTwo measures on two CPUs, and with one thread against two.
func (s setting) onTwo(r *result, few []contender, cpus []int) error {
	if err := pin(cpus); err != nil {
		return err
	}
	progress("two CPUs")
	t, _, err := ratios("the same on two CPUs", few, max(r.Rounds/2, 4), pipes)
	if err != nil {
		return err
	}
	single := s.under(floor, s.shim, "--profile=agy", "--")
	single.env = s.env("GOMAXPROCS=2")
	double := s.under("GOMAXPROCS=1", s.shim, "--profile=agy", "--")
	double.env = s.env("GOMAXPROCS=1")
	threads, _, err := ratios("the shim with one thread, as a ratio to it with two, on two CPUs", []contender{single, double}, max(r.Rounds/2, 4), pipes)
	if err != nil {
		return err
	}
	threads.Rows = threads.Rows[1:]
	r.Tables = append(r.Tables, t, threads)
	r.goal("GOMAXPROCS=1 against 2, round trip", threads.at("GOMAXPROCS=1", "round trip p50"), 1.3, "", false)
	return nil
}

// goals holds what was measured to what was set out for.
func (s setting) goals(r *result, main, big, begin, still, growth table, rates map[string]float64) {
	own := func(column string) float64 { return main.at(asUsed, column) }
	r.Equal = fmt.Sprintf("two equal programs, the floors, came out %.2f apart in the round trip, %.2f in the stream, %.2f saturated",
		main.at(equal, "round trip p50"), main.at(equal, "stream, wall"), main.at(equal, "saturated, wall"))
	r.goal("round trip p50", own("round trip p50"), 1.10, "", false)
	r.goal("round trip p99", own("p99"), 1.25, "", false)
	if tee := main.at("tee both ways", "round trip p50"); tee > 0 {
		r.goal("round trip, as a ratio to tee's", own("round trip p50")/tee, 1, "", false)
		r.goal("saturated, as a ratio to tee's", own("saturated, wall")/main.at("tee both ways", "saturated, wall"), 1, "", false)
	}
	r.goal("stream, wall", own("stream, wall"), 1.10, "", false)
	r.goal("stream, cpu", own("stream, cpu"), 1.6, "", false)
	r.goal("saturated, wall", own("saturated, wall"), 3.0, "", false)
	r.goal("saturated, frames in a second", rates[asUsed], 1e6, "/s", true)
	r.goal("20 MiB, time as a ratio to tee to disk", big.at(asUsed, "time"), 1.2, "", false)
	r.goal("20 MiB, memory at the peak", big.at(asUsed, "peak"), 3, "x", false)
	r.goal("20 MiB, memory after", big.at(asUsed, "after"), 20, "MiB", false)
	r.goal("start, as a ratio to hello with all linked", begin.at(asUsed, "ratio"), 2.0, "", false)
	r.goal("start, on top of that", begin.at(asUsed, "on top"), 15, "ms", false)
	r.goal("the longest package init", s.longestInit(), 1, "ms", false)
	if c := main.at(conductor, "stream, wall"); c > 0 {
		r.goal("conductor's stream, as a ratio to it", c/own("stream, wall"), 6, "", true)
		r.goal("conductor's saturated stream", main.at(conductor, "saturated, wall")/own("saturated, wall"), 10, "", true)
		r.goal("conductor's cpu", main.at(conductor, "stream, cpu")/own("stream, cpu"), 12, "", true)
	}
	r.goal("idle: switches", still.at(asUsed, "switches")+0.001, 1, "in all", false)
	r.goal("idle: memory", still.at(asUsed, "memory"), 16, "MiB", false)
	r.goal("a frame after many, as a ratio", growth.at(asUsed, growth.Columns[0]), 1.1, "", false)
	r.goal("a frame with 64 sessions, as a ratio", growth.at(asUsed, "64 sessions"), 1.1, "", false)
	r.goal("memory of a session", growth.at(asUsed, "a session"), 4, "KiB", false)
}

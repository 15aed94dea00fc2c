package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// pin keeps this program, and what it starts from now on, on some CPUs.
func pin(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	// All threads that are there; those to come and the children inherit it.
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return err
	}
	for _, t := range tasks {
		var tid int
		fmt.Sscan(filepath.Base(t), &tid)
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return err
		}
	}
	return nil
}

const (
	pings   = 100
	frames  = 20_000
	batched = 60_000
	// slowBy is how much fewer frames a slow program gets. acp-go-sdk ends a connection
	// on which more than 1,024 notifications wait.
	slowBy = 80
)

var columns = []string{"round trip p50", "p99", "stream, wall", "stream, cpu", "saturated, wall", "saturated, cpu"}

// kind is what lies between client and contender.
type kind bool

const (
	pipes   kind = false
	sockets kind = true
)

// ratios runs all in random order, round by round, and gives the ratios to the floor
// within each round. rates are the frames in a second of the saturated stream.
func ratios(title string, list []contender, rounds int, over kind) (t table, rates map[string]float64, err error) {
	t = table{Title: title, Columns: columns}
	var live []*instance
	for _, c := range list {
		i, err := start(c, over)
		if err != nil {
			return t, nil, err
		}
		defer i.stop()
		live = append(live, i)
	}
	values := map[string]map[string][]float64{}
	speeds := map[string][]float64{}
	for round := range rounds + 1 {
		got := map[string]map[string]float64{}
		for _, k := range rand.Perm(len(live)) {
			if live[k].gaveUp {
				continue
			}
			m, err := block(live[k])
			if err != nil && live[k].other {
				live[k].gaveUp = true
				delete(values, live[k].name)
				fmt.Fprintf(os.Stderr, "bench: %s takes no part any more: %v\n", live[k].name, err)
				continue
			}
			if err != nil {
				return t, nil, fmt.Errorf("%s: %w", live[k].name, err)
			}
			got[live[k].name] = m
		}
		if round == 0 {
			continue // everybody warms up
		}
		base := got[floor]
		for name, m := range got {
			if values[name] == nil {
				values[name] = map[string][]float64{}
			}
			for column, v := range m {
				values[name][column] = append(values[name][column], v/base[column])
			}
			speeds[name] = append(speeds[name], 1e9/m["saturated, wall"])
		}
	}
	rates = map[string]float64{}
	for _, c := range list {
		var cells []cell
		for _, column := range columns {
			cells = append(cells, of(values[c.name][column], ""))
		}
		t.add(c.name, cells...)
		if values[c.name] != nil {
			rates[c.name] = of(speeds[c.name], "").Median
		}
	}
	return t, rates, nil
}

// block is one contender's turn: times of a round trip, and of a frame of each kind
// of stream.
func block(i *instance) (map[string]float64, error) {
	m := map[string]float64{}
	list, err := i.ping(pings)
	if err != nil {
		return nil, err
	}
	sort.Slice(list, func(a, b int) bool { return list[a] < list[b] })
	m["round trip p50"], m["p99"] = float64(list[pings/2]), float64(list[pings*99/100])
	for _, x := range []struct {
		word, column, cpu string
		n                 int
	}{{"stream", "stream, wall", "stream, cpu", frames}, {"batched", "saturated, wall", "saturated, cpu", batched}} {
		if i.slow {
			x.n /= slowBy
		}
		before := i.cpu()
		d, err := i.timed(fmt.Sprintf("%s %d", x.word, x.n))
		if err != nil {
			return nil, err
		}
		m[x.column], m[x.cpu] = float64(d)/float64(x.n), float64(i.cpu()-before)/float64(x.n)
	}
	return m, nil
}

// large sends frames of 20 MB through each: the time as a ratio to tee's, which
// writes them to a disk as well, and the memory that one took.
func large(list []contender, runs int) (table, error) {
	const size = 20 << 20
	t := table{Title: "a frame of 20 MiB: time as a ratio to tee's, memory as a multiple of the frame at its peak, and a second later", Columns: []string{"time", "peak", "after"}}
	times, peak, after := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for range runs {
		took := map[string]float64{}
		for _, c := range list {
			i, err := start(c, pipes)
			if err != nil {
				return t, err
			}
			before := i.rss("VmRSS")
			d, err := i.timed(fmt.Sprintf("large %d", size))
			if err != nil {
				i.stop()
				continue // it is too much for some
			}
			took[c.name] = float64(d)
			peak[c.name] = append(peak[c.name], float64(i.rss("VmHWM")-before)*1024/size)
			time.Sleep(time.Second)
			after[c.name] = append(after[c.name], float64(i.rss("VmRSS"))/1024)
			i.stop()
		}
		base := took["tee both ways"]
		if base == 0 {
			base = took[floor]
		}
		for name, d := range took {
			times[name] = append(times[name], d/base)
		}
	}
	for _, c := range list {
		if len(times[c.name]) == 0 {
			t.add(c.name, cell{Unit: "-"}, cell{Unit: "-"}, cell{Unit: "-"})
			continue
		}
		t.add(c.name, of(times[c.name], ""), of(peak[c.name], "x"), of(after[c.name], "MiB"))
	}
	return t, nil
}

// starts compares the time from the start to the first answer with that of a program
// that says hello and has the same linked, from its start to its end.
func (s setting) starts(list []contender, rounds int) (table, error) {
	t := table{Title: "from the start to the first answer, agent included, as a ratio to the start of a program that says hello, and on top of it", Columns: []string{"ratio", "on top"}}
	ratio, top := map[string][]float64{}, map[string][]float64{}
	for round := range rounds + 1 {
		// The shim prints its version: all that is linked with it is initialised.
		linked, err := timeOf(exec.Command(s.shim, "version"))
		if err != nil {
			return t, err
		}
		bare, err := timeOf(exec.Command(s.self, "__hello"))
		if err != nil {
			return t, err
		}
		for _, k := range rand.Perm(len(list)) {
			c := list[k]
			began := time.Now()
			i, err := launch(c, pipes)
			if err != nil {
				return t, err
			}
			err = i.call("initialize", `{"protocolVersion":1}`)
			d := time.Since(began)
			i.stop()
			if err != nil {
				return t, err
			}
			hello := bare
			if c.argv[0] == s.shim {
				hello = linked
			}
			if round > 0 {
				ratio[c.name] = append(ratio[c.name], float64(d)/float64(hello))
				top[c.name] = append(top[c.name], float64(d-hello)/1e6)
			}
		}
	}
	for _, c := range list {
		t.add(c.name, of(ratio[c.name], ""), of(top[c.name], "ms"))
	}
	return t, nil
}

func timeOf(cmd *exec.Cmd) (time.Duration, error) {
	cmd.Stderr = os.Stderr
	t := time.Now()
	err := cmd.Run()
	return time.Since(t), err
}

// longestInit is the longest initialisation of a package that is linked with the
// shim, in milliseconds: the least of some starts.
func (s setting) longestInit() float64 {
	least := math.Inf(1)
	for range 7 {
		cmd := exec.Command(s.shim, "version")
		cmd.Env = s.env("GODEBUG=inittrace=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return 0
		}
		longest := 0.0
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line) // init PACKAGE @T ms, T ms clock, ...
			if len(f) > 5 && f[0] == "init" && f[5] == "ms" {
				ms, _ := strconv.ParseFloat(f[4], 64)
				longest = max(longest, ms)
			}
		}
		least = min(least, longest)
	}
	return least
}

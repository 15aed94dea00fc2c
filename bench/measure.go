package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"time"

	"golang.org/x/sys/unix"
)

func pin(cpu int) error {
	if cpu < 0 {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
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

// table has, for every contender and column, the ratios to the floor.
type table struct {
	names   []string
	columns []string
	ratios  map[string]map[string][]float64
}

func (t *table) add(name, column string, ratio float64) {
	if t.ratios[name] == nil {
		t.ratios[name] = map[string][]float64{}
	}
	t.ratios[name][column] = append(t.ratios[name][column], ratio)
}

const (
	pings   = 100
	frames  = 20_000
	batched = 60_000
)

func measure(list []contender, rounds int) (*table, error) {
	t := &table{columns: []string{"round trip p50", "p99", "stream 230 B", "cpu", "300 B batched", "cpu "}, ratios: map[string]map[string][]float64{}}
	var live []*instance
	for _, c := range list {
		i, err := start(c)
		if err != nil {
			return nil, err
		}
		defer i.stop()
		live = append(live, i)
		t.names = append(t.names, c.name)
	}
	for round := range rounds + 1 {
		got := map[string]map[string]float64{}
		for _, k := range rand.Perm(len(live)) {
			m, err := block(live[k])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", live[k].name, err)
			}
			got[live[k].name] = m
		}
		if round == 0 {
			continue // everybody warms up
		}
		floor := got["floor"]
		for name, m := range got {
			for column, v := range m {
				t.add(name, column, v/floor[column])
			}
		}
	}
	return t, nil
}

func block(i *instance) (map[string]float64, error) {
	m := map[string]float64{}
	list, err := i.ping(pings)
	if err != nil {
		return nil, err
	}
	sort.Slice(list, func(a, b int) bool { return list[a] < list[b] })
	m["round trip p50"], m["p99"] = float64(list[pings/2]), float64(list[pings*99/100])
	for _, x := range []struct{ text, column, cpu string }{
		{fmt.Sprintf("stream %d", frames), "stream 230 B", "cpu"},
		{fmt.Sprintf("batched %d", batched), "300 B batched", "cpu "},
	} {
		before := i.cpu()
		d, err := i.timed(x.text)
		if err != nil {
			return nil, err
		}
		m[x.column], m[x.cpu] = float64(d), float64(i.cpu()-before)
	}
	return m, nil
}

func quartiles(v []float64) (lo, median, hi float64) {
	sort.Float64s(v)
	return v[len(v)/4], v[len(v)/2], v[len(v)*3/4]
}

func (t *table) print(w io.Writer, markdown bool) {
	sep, end := "  ", ""
	if markdown {
		sep, end = " | ", " |"
		fmt.Fprint(w, "| ")
	}
	fmt.Fprintf(w, "%-32s", "ratio to the floor")
	for _, c := range t.columns {
		fmt.Fprintf(w, "%s%-18s", sep, c)
	}
	fmt.Fprintln(w, end)
	if markdown {
		fmt.Fprint(w, "|---")
		for range t.columns {
			fmt.Fprint(w, "|---")
		}
		fmt.Fprintln(w, "|")
	}
	for _, name := range t.names {
		if markdown {
			fmt.Fprint(w, "| ")
		}
		fmt.Fprintf(w, "%-32s", name)
		for _, c := range t.columns {
			lo, m, hi := quartiles(t.ratios[name][c])
			fmt.Fprintf(w, "%s%-18s", sep, fmt.Sprintf("%.2f (%.2f-%.2f)", m, lo, hi))
		}
		fmt.Fprintln(w, end)
	}
}

// large sends one frame of 20 MB through each and prints the memory it took.
func large(list []contender, w io.Writer) error {
	const size = 20 << 20
	fmt.Fprintf(w, "\na frame of %d MiB: time, and memory at the peak and after\n", size>>20)
	for _, c := range list {
		i, err := start(c)
		if err != nil {
			return err
		}
		before := i.rss("VmRSS")
		d, err := i.timed(fmt.Sprintf("large %d", size))
		if err != nil {
			return err
		}
		peak := i.rss("VmHWM")
		time.Sleep(time.Second)
		fmt.Fprintf(w, "%-32s  %4d ms  before %d MiB, peak %d MiB (%.1f x the frame), after %d MiB\n", c.name, d.Milliseconds(),
			before>>10, peak>>10, float64(peak-before)*1024/size, i.rss("VmRSS")>>10)
		i.stop()
	}
	return nil
}

// starts compares the time from the start to the first answer.
func starts(self, shim, dir string, rounds int, w io.Writer) error {
	list := contenders(self, shim, dir)
	ratios := map[string][]float64{}
	for round := range rounds + 1 {
		hello, err := timeHello(self)
		if err != nil {
			return err
		}
		for _, k := range rand.Perm(len(list)) {
			t := time.Now()
			i, err := start(list[k])
			if err != nil {
				return err
			}
			d := time.Since(t)
			i.stop()
			if round > 0 {
				ratios[list[k].name] = append(ratios[list[k].name], float64(d)/float64(hello))
			}
		}
	}
	fmt.Fprintln(w, "\nstart to the second answer, as a ratio to the start of a Go program that says hello")
	for _, c := range list {
		lo, m, hi := quartiles(ratios[c.name])
		fmt.Fprintf(w, "%-32s  %.2f (%.2f-%.2f)\n", c.name, m, lo, hi)
	}
	return nil
}

func timeHello(self string) (time.Duration, error) {
	cmd := exec.Command(self, "__hello")
	cmd.Stderr = os.Stderr
	t := time.Now()
	err := cmd.Run()
	return time.Since(t), err
}

package record

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"acp-shim/proxy"
)

// recordUntilKilled is what the test binary does as the program that is killed.
// It records a frame every millisecond, and says the number of the frame that
// was the newest 50 ms ago: that one must be in the file. The 50 ms are
// counted in sleeps, so that a machine which stops for a while stops them, too.
func recordUntilKilled(path string) {
	w, err := Create(path, Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	const back = 50
	for n := 1; ; n++ {
		w.Frame(note(n))
		time.Sleep(time.Millisecond)
		if n > back {
			fmt.Println(n - back)
		}
	}
}

func TestKillLosesLittle(t *testing.T) {
	for round := range 5 {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "RECORD_TEST_UNTIL_KILLED="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said := 0
		for in := bufio.NewScanner(out); in.Scan(); {
			n, err := strconv.Atoi(in.Text())
			if err != nil {
				t.Error(in.Text())
				break
			}
			if said = n; n == 20+round*7 {
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
		}
		cmd.Wait()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := uint64(0)
		for _, e := range entries(t, string(b)) {
			last = e.Seq
		}
		if last < uint64(said) {
			t.Errorf("round %d: the file ends at frame %d, and frame %d was 50 ms old", round, last, said)
		}
	}
}

// recordWithClock is what the test binary does as another program that is killed: it
// records frames as fast as a model streams, each with what the clock that times
// count from says, and says the clock of the newest.
func recordWithClock(path string) {
	start := time.Now()
	w, err := Create(path, Options{Start: start})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		at := time.Since(start)
		w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.Nobody, Bytes: fmt.Appendf(nil, "{\"at\":%d}\n", at)})
		fmt.Println(int64(at))
		time.Sleep(time.Millisecond)
	}
}

// TestKillLosesFiftyMilliseconds by the clock in the frames. One round of six may
// be worse, since a machine may stop for longer than that.
func TestKillLosesFiftyMilliseconds(t *testing.T) {
	const rounds = 6
	var worst []time.Duration
	for round := range rounds {
		path := filepath.Join(t.TempDir(), "c.jsonl")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "RECORD_TEST_WITH_CLOCK="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said, n := int64(0), 0
		for in := bufio.NewScanner(out); in.Scan(); n++ {
			if said, err = strconv.ParseInt(in.Text(), 10, 64); err != nil {
				t.Fatal(in.Text())
			}
			if n == 100+round*13 {
				if err := cmd.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
		}
		cmd.Wait()
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		last := time.Duration(0)
		for _, e := range entries(t, string(b)) {
			if e.IsFrame() {
				last = e.T
			}
		}
		worst = append(worst, time.Duration(said)-last)
	}
	slices.Sort(worst)
	t.Logf("the newest frame is older than the kill by %v", worst)
	if worst[rounds-2] > 50*time.Millisecond {
		t.Errorf("more than 50 ms are missing: %v", worst)
	}
}

// recordUntilEnd is what the test binary does as one of several shims in a
// directory.
func recordUntilEnd(dir string) {
	w, err := Create(dir, Options{Agent: "agy", RotateSize: 3000, Compress: true, KeepSize: 1 << 30, KeepAge: time.Hour})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for n := range 500 {
		w.Frame(note(n))
		time.Sleep(200 * time.Microsecond)
	}
	err = w.Close()
	fmt.Println(w.Path(), err)
	os.Exit(0)
}

// TestAppend: a second run in the same file ends the line that a kill tore, and
// has a header of its own.
func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "c.jsonl")
	for run := 1; run <= 2; run++ {
		w, err := Create(path, Options{Version: strconv.Itoa(run)})
		if err != nil {
			t.Fatal(err)
		}
		w.Frame(&proxy.Frame{From: proxy.Client, To: proxy.Nobody, Bytes: []byte("x\n")})
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if run == 1 {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteString(`{"seq":9,"t":`)
			f.Close()
		}
	}
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Header == nil || c.Header.Shim != "1" {
		t.Errorf("header %+v", c.Header)
	}
	for range 2 {
		var got []string
		for e, err := range c.Entries() {
			switch {
			case err != nil:
				got = append(got, err.Error())
			case e.Header != nil:
				got = append(got, "header "+e.Header.Shim)
			default:
				got = append(got, fmt.Sprint(e.Seq, e.Event))
			}
		}
		want := "header 1|1|2end|capture line 4: it is no JSON object|header 2|1|2end"
		if g := strings.ReplaceAll(strings.Join(got, "|"), " |", "|"); strings.ReplaceAll(g, " end", "end") != want {
			t.Errorf("got %s", g)
		}
	}
}

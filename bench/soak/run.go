package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// run is one shim and its client, from the start to the end.
type run struct {
	options
	agents  int
	dir     string
	length  time.Duration
	random  *rand.Rand
	cmd     *exec.Cmd
	env     []string
	capture string
	c       *client
	people  []*session
	stop    chan struct{}
	killed  int
	crash   sync.Mutex
	crashed time.Time // when one was last chosen
	began   time.Time
}

func (r *run) over() bool {
	select {
	case <-r.stop:
		return true
	case <-r.c.ended:
		return true
	default:
		return false
	}
}

// all is the run: busy for a while, quiet and measured, busy for the rest, quiet
// and measured again.
func (r *run) all() error {
	if err := r.start(); err != nil {
		return err
	}
	defer r.cmd.Process.Kill()
	if f, ok := r.c.call("initialize", `{"protocolVersion":1}`); !ok || f.Result == nil {
		return fmt.Errorf("initialize: %v, %v", f.Error, r.c.failed())
	}
	fmt.Printf("\n%d sessions, --max-agents=%d, shim %d\n%s\n", r.sessions, r.agents, r.cmd.Process.Pid, heading)
	warm := min(r.length/3, time.Minute)
	r.busy(warm)
	before, err := r.quiet("quiet, warm")
	if err != nil {
		return err
	}
	r.busy(r.length - warm)
	after, err := r.quiet("quiet, end")
	if err != nil {
		return err
	}
	fault := r.c.failed()
	if fault == nil {
		fault = flat(before, after)
	}
	return errors.Join(fault, r.end())
}

func (r *run) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return err
	}
	r.capture = filepath.Join(r.dir, "capture.jsonl")
	errs, err := os.Create(filepath.Join(r.dir, "stderr"))
	if err != nil {
		return err
	}
	defer errs.Close()
	r.env = append(os.Environ(), "HOME="+r.dir, "GEMINI_HOME="+filepath.Join(r.dir, "gemini"), "XDG_STATE_HOME="+filepath.Join(r.dir, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(r.dir, "config"), "GORACE=log_path="+filepath.Join(r.dir, "race"), "GOTRACEBACK=all")
	r.cmd = exec.Command(r.shim, "--profile=agy", fmt.Sprint("--max-agents=", r.agents), "--record="+r.capture, "--record-raw", "--record-max-blob=0",
		"--", self, "__agent", r.shim, fmt.Sprint(r.seed))
	r.cmd.Env, r.cmd.Stderr, r.cmd.Dir = r.env, errs, r.dir
	in, err := r.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return err
	}
	r.cmd.Stdout = w
	if err := r.cmd.Start(); err != nil {
		return err
	}
	w.Close()
	r.began = time.Now()
	r.c = newClient(in, out)
	for range r.sessions {
		r.people = append(r.people, &session{r: r, c: r.c, rand: rand.New(rand.NewPCG(r.random.Uint64(), 0)), ends: map[string]int{}})
	}
	return nil
}

// busy has everybody do what they like for a while.
func (r *run) busy(length time.Duration) {
	r.stop = make(chan struct{})
	var all sync.WaitGroup
	for _, s := range r.people {
		all.Go(s.live)
	}
	all.Go(r.mischief)
	every := time.NewTicker(min(10*time.Second, max(time.Second, length/4)))
	defer every.Stop()
	end := time.After(length)
	for busy := true; busy && r.c.failed() == nil; {
		select {
		case <-every.C:
			r.gauge().print(r, "busy")
		case <-r.c.ended:
			busy = false
		case <-end:
			busy = false
		}
	}
	close(r.stop)
	all.Wait()
}

// mayCrash tells that an agent may die now. More than two sessions that crash
// within half a minute have the shim start nothing for a while, which is right and
// would be all that there is to see.
func (r *run) mayCrash() bool {
	r.crash.Lock()
	defer r.crash.Unlock()
	if time.Since(r.crashed) < 25*time.Second {
		return false
	}
	r.crashed = time.Now()
	return true
}

// mischief kills agents and has the client read slowly, now and then.
func (r *run) mischief() {
	for {
		select {
		case <-r.stop:
			return
		case <-time.After(within(r.random, 3*time.Second)):
		}
		switch r.random.IntN(4) {
		case 0:
			select {
			case r.c.pause <- within(r.random, 2*time.Second):
			default:
			}
		default:
			list := r.family()
			all := r.length > 2*time.Minute && r.random.IntN(120) == 0
			if len(list) == 0 || !all && !r.mayCrash() {
				break
			}
			if !all {
				list = list[r.random.IntN(len(list)):][:1]
			}
			for _, pid := range list {
				if syscall.Kill(pid, syscall.SIGKILL) == nil {
					r.killed++
				}
			}
		}
	}
}

// quiet waits until nothing is open and nothing goes on, and measures then.
func (r *run) quiet(name string) (gauge, error) {
	deadline := time.Now().Add(patience)
	for {
		r.c.mu.Lock()
		open := len(r.c.open)
		r.c.mu.Unlock()
		if open == 0 {
			break
		}
		if time.Now().After(deadline) {
			return gauge{}, fmt.Errorf("%d requests have no answer though nothing else goes on", open)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Processes that were ended are gone by then, standby ones are started, large
	// buffers were given back.
	g := r.gauge()
	for steady := 0; steady < 6 && time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		now := r.gauge()
		if now.fds == g.fds && now.processes == g.processes && now.goroutines == g.goroutines {
			steady++
		} else {
			steady = 0
		}
		g = now
	}
	g.print(r, name)
	return g, nil
}

// end ends the client, and sees what is left.
func (r *run) end() error {
	r.c.in.Close()
	done := make(chan error, 1)
	go func() { done <- r.cmd.Wait() }()
	began := time.Now()
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("the shim ended badly: %w", err)
		}
	case <-time.After(10 * time.Second):
		r.cmd.Process.Signal(syscall.SIGABRT)
		<-done
		return fmt.Errorf("the shim does not end; where it waits is on its stderr (-keep)")
	}
	took := time.Since(began)
	<-r.c.ended
	time.Sleep(time.Second)
	if left := r.left(); len(left) > 0 {
		return fmt.Errorf("a second after its end there is still %v", left)
	}
	if files, _ := filepath.Glob(filepath.Join(r.dir, "race*")); len(files) > 0 {
		b, _ := os.ReadFile(files[0])
		return fmt.Errorf("the race detector has found\n%.4000s", b)
	}
	turns, ends := 0, map[string]int{}
	for _, s := range r.people {
		turns += s.turns
		for k, n := range s.ends {
			ends[k] += n
		}
	}
	for end, n := range ends {
		fmt.Printf("%6d turns ended: %s\n", n, end)
	}
	fmt.Printf("%d requests, %d turns, %d agents killed from outside, %d frames and %.1f MB to the client; it ended in %.1f s\n",
		r.c.requests, turns, r.killed, r.c.frames, float64(r.c.bytes)/1e6, took.Seconds())
	if err := r.c.failed(); err != nil {
		return err
	}
	return r.whole()
}

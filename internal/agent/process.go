package agent

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Spec says what to start.
type Spec struct {
	// Path is the program, resolved and pinned (see Find); it is not looked up.
	Path string
	// Args are its arguments, without the program's own name.
	Args []string
	// Env is the child's environment; nil means this process's. ExtraEnv is
	// added to it and wins. The marks, the depth and, with PrivateTemp, the
	// names of the temporary directory are set over both.
	Env      []string
	ExtraEnv []string
	// Dir is its working directory; empty means this process's.
	Dir string
	// RunID is this shim's run (see NewRunID) and Gen the agent's generation.
	// Without a RunID the child is not marked, and its tree is known by parent
	// and session only.
	RunID string
	Gen   int
	// PrivateTemp gives the child a temporary directory of its own below the
	// system's, which is removed after it. Always on Windows, where the agent
	// unpacks more than a gigabyte into it at every start and leaves it behind
	// when killed.
	PrivateTemp bool

	// Stderr is called with each line of stderr, its end included, in order,
	// from a goroutine of its own; the slice is the callee's. A piece that does
	// not end in '\n' is continued by the next one: lines are cut at 64 KiB, and
	// a line that is not finished within a fifth of a second is handed on as it
	// stands (a prompt, a login URL). A slow Stderr never blocks the child: past
	// 1 MiB that waits, lines are lost and StderrLost is told, in their place.
	// SkipLines leaves lines out with all their pieces.
	Stderr     func(line []byte)
	StderrLost func(lines int, bytes int64)
	// TailSkip says which lines Tail leaves out. It is called with the first
	// piece of a line while stderr is being read and must be quick.
	TailSkip func(line []byte) bool

	table processTable // tests put a table of their own here
}

// Process is an agent that was started.
//
// The child inherits which signals are ignored: a shim that wants to be deaf to
// SIGINT must catch it (signal.Notify), not ignore it (signal.Ignore), or the
// agent's tools are deaf as well.
type Process struct {
	// Stdin and Stdout are the shim's ends of the pipes. They are non-blocking
	// and registered with the runtime's poller; the child's ends are blocking.
	// Use SyscallConn, never Fd, to reach the descriptors.
	Stdin, Stdout *os.File
	Pid           int
	Gen           int
	Path          string
	Started       time.Time

	os     *os.Process
	run    string
	table  processTable
	born   uint64 // the leader's start in the table's units; 0: not known
	job    *job
	temp   string
	stderr *stderrReader

	// mu is held while the leader is signalled by number and while it is
	// reaped, so that no signal reaches a later process of the same number.
	mu     sync.Mutex
	reaped bool
	exit   Exit

	termSent, killSent, expected atomic.Bool

	done      chan struct{}
	gone      chan struct{}
	stdinOnce sync.Once
	release   sync.Once
	released  chan struct{}
}

// starting is held from before a fork until the child is in managed, and by the
// reaper while it looks for orphans: a child that exits at once must not be
// taken for one of them.
var starting sync.Mutex

// managed has every process that somebody in this package waits for. Its lock
// is not starting's: a program on a slow disk takes its time to start, and
// another one's Kill must not wait for it.
var (
	managedMu sync.Mutex
	managed   = map[int]any{}
	// live are the agents among them, once all is known that a guard is told.
	live = map[*Process]bool{}
)

// startManaged starts a child that its caller waits for and calls unmanage for.
// It has some patience with a program that is being written, also by ourselves:
// between the fork and the exec of any other child our own descriptors are open
// in it, the one the file was written through included.
func startManaged(by any, path string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	for try := 1; ; try++ {
		starting.Lock()
		p, err := os.StartProcess(path, argv, attr)
		if err == nil {
			managedMu.Lock()
			managed[p.Pid] = by
			managedMu.Unlock()
		}
		starting.Unlock()
		if err == nil || try > 3 || !textBusy(err) {
			return p, err
		}
		time.Sleep(time.Duration(try) * 10 * time.Millisecond)
	}
}

// unmanage is called when the child has been reaped. Its number may by then be
// another child's.
func unmanage(by any, pid int) {
	managedMu.Lock()
	defer managedMu.Unlock()
	if managed[pid] == by {
		delete(managed, pid)
	}
}

// Start starts an agent. Its error is a *StartError, which says in words what
// is wrong.
func Start(s Spec) (*Process, error) {
	fail := func(words string, err error) (*Process, error) {
		return nil, &StartError{Path: s.Path, Words: words, Err: err}
	}
	if s.RunID != "" && !validRunID(s.RunID) {
		return fail(fmt.Sprintf("the run id %q is not 8 to 64 letters, digits, '-' or '_'", s.RunID), nil)
	}
	p := &Process{
		Gen: s.Gen, Path: s.Path, run: s.RunID, table: s.table,
		done: make(chan struct{}), gone: make(chan struct{}), released: make(chan struct{}),
	}
	if p.table == nil {
		p.table = systemTable()
	}
	if s.PrivateTemp || alwaysPrivateTemp {
		dir, err := os.MkdirTemp("", tempPrefix)
		if err != nil {
			return fail("its private temporary directory could not be made: "+err.Error(), err)
		}
		p.temp = dir
	}
	pipes, err := newPipes()
	if err != nil {
		p.dropTemp()
		return fail("its pipes could not be made: "+err.Error(), err)
	}
	if err := p.start(s, pipes); err != nil {
		pipes.close()
		p.dropTemp()
		return nil, explain(s, err)
	}
	pipes.closeChild()
	p.Stdin, p.Stdout = pipes.stdin, pipes.stdout
	p.stderr = newStderrReader(pipes.stderr, s)
	go p.wait()
	go p.scratch()
	return p, nil
}

func (p *Process) start(s Spec, pipes *pipes) error {
	attr := &os.ProcAttr{
		Dir:   s.Dir,
		Env:   childEnv(s, p.temp),
		Files: pipes.child[:],
		Sys:   ownSession(),
	}
	child, err := startManaged(p, s.Path, append([]string{s.Path}, s.Args...), attr)
	if err != nil {
		return err
	}
	p.os, p.Pid, p.Started = child, child.Pid, time.Now()
	p.job = newJob(child.Pid)
	p.born = p.table.born(p.Pid)
	managedMu.Lock()
	live[p] = true
	managedMu.Unlock()
	tellGuards(p.run, guardAdd(p))
	return nil
}

// dropTemp is for a start that failed; nothing can be in the directory yet.
func (p *Process) dropTemp() {
	if p.temp != "" {
		os.RemoveAll(p.temp)
	}
}

func (p *Process) wait() {
	var state *os.ProcessState
	var err error
	if awaitExit(p.Pid) {
		p.mu.Lock()
		state, err = p.os.Wait()
	} else {
		state, err = p.os.Wait()
		p.mu.Lock()
	}
	p.reaped = true
	p.exit = exitOf(state, err, p.termSent.Load(), p.killSent.Load(), p.expected.Load())
	p.mu.Unlock()

	unmanage(p, p.Pid)
	managedMu.Lock()
	delete(live, p)
	managedMu.Unlock()
	tellGuards(p.run, guardRemove(p))
	close(p.done)
}

// scratch removes the private temporary directory once the process is dead and
// released: tools that outlive it may still use it until then.
func (p *Process) scratch() {
	defer close(p.gone)
	<-p.released
	<-p.done
	p.job.close()
	if p.temp == "" {
		return
	}
	// Windows refuses to remove what a dying process still has open.
	for try := range 20 {
		if os.RemoveAll(p.temp) == nil {
			tellGuards(p.run, guardTempRemoved(p.temp))
			return
		}
		time.Sleep(time.Duration(try+1) * 10 * time.Millisecond)
	}
}

// Done is closed when the process has exited and is reaped. Its last output may
// still be in the pipes, and a tool of its may hold them open.
func (p *Process) Done() <-chan struct{} { return p.done }

// StderrDone is closed when stderr has ended and its last line is delivered. A
// tool that outlives the agent may hold it open: wait with a limit.
func (p *Process) StderrDone() <-chan struct{} { return p.stderr.done }

// Gone is closed when the process was released, is dead, and its private
// temporary directory is removed (or could not be, after two seconds).
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Exit says how the process ended; before Done it is the zero Exit.
func (p *Process) Exit() Exit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit
}

// Tail is the end of its stderr, at most 8 KiB of whole lines, control
// characters and colours removed. Lines over 1 KiB are shortened.
func (p *Process) Tail() string { return p.stderr.tail.String() }

// Temp is its private temporary directory, or empty.
func (p *Process) Temp() string { return p.temp }

// Expect marks the end of the process as expected without signalling it, for a
// user that closes stdin and waits.
func (p *Process) Expect() { p.expected.Store(true) }

// CloseStdin closes the shim's end of the child's stdin.
func (p *Process) CloseStdin() {
	p.stdinOnce.Do(func() { p.Stdin.Close() })
}

// Terminate asks the process, and what runs in its session, to end, and marks
// its end as expected.
func (p *Process) Terminate() {
	p.expected.Store(true)
	p.termSent.Store(true)
	p.terminate()
}

// Kill ends the process and everything it started, and marks its end as
// expected. It also works after the process itself has exited: for what it left
// behind. It returns when nothing is left that could still be signalled, at the
// latest after killBound.
func (p *Process) Kill() {
	p.expected.Store(true)
	p.killSent.Store(true)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		p.kill()
	}()
	limit := time.NewTimer(killBound)
	defer limit.Stop()
	select {
	case <-finished:
	case <-limit.C:
		// Reading the environment of a process that is stuck in the kernel can
		// hang. The signals that need no such reading are sent by now.
	}
}

// tempPrefix begins the name of a private temporary directory.
const tempPrefix = "acp-shim-"

// killBound is how long Kill may take at most.
const killBound = 250 * time.Millisecond

// Release closes the shim's ends of all pipes and has the private temporary
// directory removed (see Gone). It does not end the process.
func (p *Process) Release() {
	p.release.Do(func() {
		p.CloseStdin()
		p.Stdout.Close()
		p.stderr.close()
		close(p.released)
	})
}

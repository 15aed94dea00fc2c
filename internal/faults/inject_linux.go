package faults

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Call is a system call of the program, before it is carried out.
type Call struct {
	Name string
	// N counts the program's calls of this name from 1.
	N int
	// On is what it is about, as far as that can be told: a path, or what a
	// descriptor stands for.
	On string
}

func (c Call) String() string { return fmt.Sprintf("%s %d of %s", c.Name, c.N, c.On) }

// Hang, as what a call is answered with, is no answer: it hangs until Close, as one to a
// disk that is gone.
const Hang = syscall.Errno(1 << 20)

// Injector answers the calls of one program.
type Injector struct {
	// Args is the command line to start in the program's place.
	Args []string

	listener *net.UnixListener
	program  []byte // its command line as the system shows it
	decide   func(Call) syscall.Errno
	dir      string

	mu     sync.Mutex
	counts map[string]int
	err    error
	done   chan struct{}

	closing atomic.Bool
	hung    bool // run's own
}

// New prepares that the calls with these names, made by the program with the
// command line args, are answered by decide: with 0 they go on. decide is called
// by one goroutine.
func New(args, names []string, decide func(Call) syscall.Errno) (*Injector, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, ok := numbers[name]; !ok {
			return nil, fmt.Errorf("no system call is known as %q", name)
		}
	}
	dir, err := os.MkdirTemp("", "faults-")
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	in := &Injector{
		Args:     append([]string{exe, launchArg, path, strings.Join(names, ",")}, args...),
		listener: l, program: []byte(strings.Join(args, "\x00") + "\x00"), decide: decide, dir: dir,
		counts: map[string]int{}, done: make(chan struct{}),
	}
	go in.run()
	return in, nil
}

// Close waits until the program and what it started are gone, and returns what
// went wrong with the injecting itself, and how often each call was made.
func (in *Injector) Close() (map[string]int, error) {
	in.closing.Store(true)
	in.listener.Close()
	<-in.done
	os.RemoveAll(in.dir)
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.counts, in.err
}

func (in *Injector) fail(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.err = errors.Join(in.err, err)
}

func (in *Injector) run() {
	defer close(in.done)
	conn, err := in.listener.AcceptUnix()
	if err != nil {
		in.fail(err)
		return
	}
	defer conn.Close()
	fd, err := receive(conn)
	if err != nil {
		in.fail(err)
		return
	}
	defer unix.Close(fd)
	conn.Write([]byte{1})
	for {
		p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if k, err := unix.Poll(p, 100); err == unix.EINTR || err == nil && k == 0 {
			if in.hung && in.closing.Load() {
				return // what hangs gets an error by that
			}
			continue
		} else if err != nil {
			in.fail(err)
			return
		}
		if p[0].Revents&unix.POLLIN == 0 {
			return // nobody has the filter any more
		}
		var n notice
		switch errno := ioctl(fd, notifReceive, unsafe.Pointer(&n)); errno {
		case 0:
		case unix.ENOENT, unix.EINTR:
			continue // the caller was killed meanwhile
		default:
			in.fail(errno)
			return
		}
		a := answer{ID: n.ID, Flags: goOn}
		switch errno := in.judge(&n); errno {
		case 0:
		case Hang:
			in.hung = true
			continue
		default:
			a.Flags, a.Error = 0, -int32(errno)
		}
		ioctl(fd, notifSend, unsafe.Pointer(&a)) // it fails where the caller is gone
	}
}

// judge asks about a call of the program; what it started, and what is not yet
// the program, is let alone.
func (in *Injector) judge(n *notice) syscall.Errno {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", n.Pid))
	if err != nil || !bytes.Equal(cmdline, in.program) {
		return 0
	}
	name := nameOf(n.Nr)
	in.mu.Lock()
	in.counts[name]++
	c := Call{Name: name, N: in.counts[name]}
	in.mu.Unlock()
	c.On = about(n, name)
	return in.decide(c)
}

// about looks at the caller's memory and descriptors.
func about(n *notice, name string) string {
	arg, path := numbers[name].arg, false
	if arg < 0 {
		return ""
	}
	if arg >= pathArg {
		arg, path = arg-pathArg, true
	}
	if path {
		b := make([]byte, 256)
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", n.Pid))
		if err != nil {
			return ""
		}
		defer mem.Close()
		k, _ := mem.ReadAt(b, int64(n.Args[arg]))
		b, _, _ = bytes.Cut(b[:k], []byte{0})
		return string(b)
	}
	fd := int32(n.Args[arg])
	to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", n.Pid, fd))
	if kind, _, ok := strings.Cut(to, ":["); ok {
		if kind == "pipe" && name == "read" && n.Args[2] == 8 {
			return "status of a fork" // nobody else reads as little
		}
		return fmt.Sprintf("%s at %d", kind, fd) // the number in brackets says nothing
	}
	return to
}

func receive(conn *net.UnixConn) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, k, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:k])
	if err != nil || len(messages) != 1 {
		return 0, errors.New("the program could not be given a filter; its stderr says why")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return 0, err
	}
	return fds[0], nil
}

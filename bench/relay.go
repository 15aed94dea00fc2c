package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// largePipe is the size of the buffers of a relay that makes its pipes larger.
const largePipe = 256 << 10

// floorMain is the least that a relay can be: it copies both ways with one write
// a read, all pipe ends without blocking, and looks at nothing. size is that of its
// buffers; above that of a pipe it enlarges those, too.
func floorMain(size int, argv []string) {
	inR, inW := pipe(size)
	outR, outW := pipe(size)
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{inR, outW, os.Stderr}})
	if err != nil {
		panic(err)
	}
	inR.Close()
	outW.Close()
	in, out := reopen(0, syscall.O_RDONLY, size), reopen(1, syscall.O_WRONLY, size)
	done := make(chan struct{})
	go func() {
		defer close(done)
		relay(out, outR, size)
	}()
	relay(inW, in, size)
	inW.Close()
	<-done
	p.Wait()
}

// pipe makes a pipe that takes size bytes, or what a pipe takes if that is more.
func pipe(size int) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	enlarge(w, size)
	return r, w
}

// ofPipe is what a pipe takes.
const ofPipe = 64 << 10

func enlarge(f *os.File, size int) {
	if size <= ofPipe {
		return
	}
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, size) })
	}
}

// reopen opens one of the standard streams anew, so that it does not block.
func reopen(fd, mode, size int) *os.File {
	f, err := os.OpenFile("/proc/self/fd/"+string(rune('0'+fd)), mode|syscall.O_NONBLOCK, 0)
	if err != nil {
		// A socket cannot be opened anew; here nobody else uses it.
		syscall.SetNonblock(fd, true)
		return os.NewFile(uintptr(fd), "std")
	}
	enlarge(f, size)
	return f
}

func relay(dst, src *os.File, size int) {
	buf := make([]byte, size)
	for {
		n, err := src.Read(buf)
		if n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// startAgent starts the agent as most relays do, with os/exec's pipes.
func startAgent(argv []string) (cmd *exec.Cmd, in io.WriteCloser, out io.Reader) {
	cmd = exec.Command(argv[0], argv[1:]...)
	in, _ = cmd.StdinPipe()
	out, _ = cmd.StdoutPipe()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	return cmd, in, out
}

// copyMain is what comes to mind first.
func copyMain(argv []string) {
	cmd, in, out := startAgent(argv)
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(os.Stdout, out) })
	io.Copy(in, os.Stdin)
	in.Close()
	wg.Wait()
	cmd.Wait()
}

// linesMain decodes and encodes every frame.
func linesMain(argv []string) {
	cmd, in, out := startAgent(argv)
	pass := func(dst io.Writer, src io.Reader) {
		r := bufio.NewReaderSize(src, 64<<10)
		for {
			line, err := r.ReadBytes('\n')
			if len(line) > 0 {
				var v map[string]any
				if json.Unmarshal(line, &v) == nil {
					line, _ = json.Marshal(v)
					line = append(line, '\n')
				}
				dst.Write(line)
			}
			if err != nil {
				return
			}
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { pass(os.Stdout, out) })
	pass(in, os.Stdin)
	in.Close()
	wg.Wait()
	cmd.Wait()
}

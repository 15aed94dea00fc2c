package main

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// floorMain is the least that a relay can be: it copies both ways with one write
// a read, all pipe ends without blocking, and looks at nothing.
func floorMain(argv []string) {
	inR, inW := pipe()
	outR, outW := pipe()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Files: []*os.File{inR, outW, os.Stderr}})
	if err != nil {
		panic(err)
	}
	inR.Close()
	outW.Close()
	in, out := reopen(0, syscall.O_RDONLY), reopen(1, syscall.O_WRONLY)
	done := make(chan struct{})
	go func() {
		defer close(done)
		relay(out, outR)
	}()
	relay(inW, in)
	inW.Close()
	<-done
	p.Wait()
}

// pipe makes a pipe as large as the shim's.
func pipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	if raw, err := w.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.Syscall(syscall.SYS_FCNTL, fd, 1031, 256<<10) })
	}
	return r, w
}

// reopen opens one of the standard streams anew, so that it does not block.
func reopen(fd, mode int) *os.File {
	f, err := os.OpenFile("/proc/self/fd/"+string(rune('0'+fd)), mode|syscall.O_NONBLOCK, 0)
	if err != nil {
		// A socket cannot be opened anew; here nobody else uses it.
		syscall.SetNonblock(fd, true)
		return os.NewFile(uintptr(fd), "std")
	}
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.Syscall(syscall.SYS_FCNTL, fd, 1031, 256<<10) })
	}
	return f
}

func relay(dst, src *os.File) {
	buf := make([]byte, 256<<10)
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

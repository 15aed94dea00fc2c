package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// instance is a contender that runs, and the client in front of it.
type instance struct {
	contender
	cmd *exec.Cmd
	in  *os.File
	out *os.File
	buf []byte
	id  int

	gaveUp bool
}

// patience is how long an answer may take.
const patience = 30 * time.Second

// start starts a contender and opens a session.
func start(c contender, over kind) (*instance, error) {
	i, err := launch(c, over)
	if err == nil {
		err = i.call("initialize", `{"protocolVersion":1}`)
	}
	if err == nil {
		err = i.call("session/new", `{"cwd":"/","mcpServers":[]}`)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return i, nil
}

// launch starts a contender.
func launch(c contender, over kind) (*instance, error) {
	inR, inW := ends(over)
	outR, outW := ends(over)
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.env, inR, outW, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.name, err)
	}
	inR.Close()
	outW.Close()
	return &instance{contender: c, cmd: cmd, in: inW, out: outR, buf: make([]byte, 1<<20)}, nil
}

// ends are both ends of a pipe, or of a pair of sockets as Node gives its children.
func ends(over kind) (r, w *os.File) {
	if over == pipes {
		return pipe(ofPipe)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket")
}

func (i *instance) stop() {
	i.in.Close()
	i.out.SetReadDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.Copy(io.Discard, i.out); err != nil {
		i.cmd.Process.Kill()
	}
	i.out.Close()
	i.cmd.Wait()
	syscall.Kill(-i.cmd.Process.Pid, syscall.SIGKILL) // an agent that its relay has left
}

// call sends a request and reads to its answer.
func (i *instance) call(method, params string) error {
	i.id++
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}`+"\n", i.id, method, params)
	if _, err := i.in.WriteString(line); err != nil {
		return err
	}
	i.out.SetReadDeadline(time.Now().Add(patience))
	return i.answer(method)
}

// answer reads up to the answer of the last request, which is the last thing that
// comes. It looks at the end of what a read brings, and at nothing else: it is the
// programs between that are to be measured.
func (i *instance) answer(method string) error {
	want := []byte(`"id":` + strconv.Itoa(i.id))
	kept := 0
	for {
		n, err := i.out.Read(i.buf[kept:])
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		read := i.buf[:kept+n]
		tail := read[max(0, len(read)-lastWords):]
		if k := bytes.LastIndex(tail, want); k >= 0 && tail[len(tail)-1] == '\n' {
			if line := tail[bytes.LastIndexByte(tail[:k], '\n')+1:]; bytes.Contains(line, []byte(`"result"`)) {
				return nil
			}
		}
		kept = copy(i.buf, tail)
	}
}

// lastWords is how far before the end of a read an answer may begin, in bytes.
const lastWords = 4096

func (i *instance) prompt(text string) error { return i.promptIn(session, text) }

func (i *instance) promptIn(id, text string) error {
	return i.call("session/prompt", `{"sessionId":"`+id+`","prompt":[{"type":"text","text":"`+text+`"}]}`)
}

var ping = `{"sessionId":"` + session + `","text":"` + strings.Repeat("x", 100) + `"}`

// ping is the time of each of n round trips.
func (i *instance) ping(n int) ([]time.Duration, error) {
	list := make([]time.Duration, n)
	for k := range list {
		t := time.Now()
		if err := i.call("_ping", ping); err != nil {
			return nil, err
		}
		list[k] = time.Since(t)
	}
	return list, nil
}

func (i *instance) timed(text string) (time.Duration, error) {
	t := time.Now()
	err := i.prompt(text)
	return time.Since(t), err
}

// cpu is the time that the contender itself, without the agent below it, has
// been on a processor.
func (i *instance) cpu() time.Duration {
	var sum time.Duration
	for _, pid := range i.own() {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
		for _, task := range tasks {
			b, _ := os.ReadFile(task)
			f, _, _ := strings.Cut(string(b), " ")
			ns, _ := strconv.ParseInt(f, 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// own are the contender's processes: itself and, for a pipeline, its tees.
func (i *instance) own() []int {
	list := []int{i.cmd.Process.Pid}
	if i.argv[0] != "sh" {
		return list
	}
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", list[0], list[0]))
	for _, f := range strings.Fields(string(children)) {
		pid, _ := strconv.Atoi(f)
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
		if name := strings.TrimSpace(string(comm)); name == "tee" || name == "cat" {
			list = append(list, pid)
		}
	}
	return list
}

// rss is a line of the contender's memory in KiB: VmHWM is the peak.
func (i *instance) rss(line string) int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.cmd.Process.Pid))
	for _, l := range strings.Split(string(b), "\n") {
		if rest, ok := strings.CutPrefix(l, line+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}

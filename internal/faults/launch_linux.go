package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// launchArg is the first argument that makes a test binary the launcher.
const launchArg = "__faults"

// Launches tells that the process has been started in the place of the program
// under test. A TestMain must look for it first, and then call Launch.
func Launches(args []string) bool { return len(args) > 4 && args[1] == launchArg }

// Launch gives itself the filter and becomes the program. It returns the exit
// code for where it cannot.
func Launch(args []string) int {
	err := launch(args[2], strings.Split(args[3], ","), args[4:])
	fmt.Fprintln(os.Stderr, "faults:", err)
	return 125
}

func launch(socket string, names, program []string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	path, err := exec.LookPath(program[0])
	if err != nil {
		return err
	}
	var calls []int
	for _, name := range names {
		calls = append(calls, numbers[name].nr)
	}
	env := os.Environ()
	// Only this thread gets the filter, and the exec ends the others. Until the
	// test has the descriptor, a call of this thread's that is caught would wait
	// forever: others send it.
	runtime.LockOSThread()
	fd, sent := make(chan int), make(chan error)
	go func() {
		rights := unix.UnixRights(<-fd)
		_, _, err := conn.(*net.UnixConn).WriteMsgUnix([]byte{0}, rights, nil)
		if err == nil {
			_, err = conn.Read(make([]byte, 1))
		}
		sent <- err
	}()
	listener, err := install(calls)
	if err != nil {
		return fmt.Errorf("this system lets no test catch system calls: %w", err)
	}
	fd <- listener
	if err := <-sent; err != nil {
		return err
	}
	return syscall.Exec(path, program, env)
}

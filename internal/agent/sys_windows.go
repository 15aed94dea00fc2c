package agent

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

const alwaysPrivateTemp = true

func ownSession() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP,
		HideWindow:    true,
	}
}

func textBusy(err error) bool { return errors.Is(err, windows.ERROR_SHARING_VIOLATION) }

func setBlocking(*os.File) error { return nil }

func signalName(*os.ProcessState) string { return "" }

// job holds a process and all that it starts. Windows ends them when the last
// handle to the job is closed, which happens whichever way this process ends.
type job struct {
	mu     sync.Mutex
	handle windows.Handle // 0: there is none, or it is closed
}

// newJob is best effort: what the process started before it was put into its
// job is not in it.
func newJob(pid int) *job {
	h, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return &job{}
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(h, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		var process windows.Handle
		process, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
		if err == nil {
			err = windows.AssignProcessToJobObject(h, process)
			windows.CloseHandle(process)
		}
	}
	if err != nil {
		windows.CloseHandle(h)
		return &job{}
	}
	return &job{handle: h}
}

func (j *job) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		windows.CloseHandle(j.handle)
		j.handle = 0
	}
}

func (j *job) kill() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handle != 0 {
		windows.TerminateJobObject(j.handle, 1)
	}
}

func (p *Process) terminate() {
	select {
	case <-p.done:
		return
	default:
	}
	// The nearest thing to SIGTERM. It reaches only what shares our console.
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.Pid))
}

func (p *Process) kill() {
	p.job.kill()
	p.os.Kill()
}

// noTable: the job knows what belongs to the process.
type noTable struct{}

func systemTable() processTable { return noTable{} }

func (noTable) list() ([]proc, error) { return nil, errors.ErrUnsupported }
func (noTable) born(int) uint64       { return 0 }
func (noTable) environ(int) []byte    { return nil }
func (noTable) kill(proc)             {}

package faults

import (
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// These are from linux/seccomp.h.
const (
	setModeFilter  = 1
	newListener    = 1 << 3
	waitKillable   = 1 << 5 // a signal, of which Go sends itself many, does not disturb a call that waits here
	retNotify      = 0x7fc00000
	retAllow       = 0x7fff0000
	notifReceive   = 0xc0502100
	notifSend      = 0xc0182101
	goOn           = 1
	offsetOfNumber = 0
)

// notice is struct seccomp_notif, with the seccomp_data in it.
type notice struct {
	ID    uint64
	Pid   uint32
	Flags uint32
	Nr    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

// answer is struct seccomp_notif_resp.
type answer struct {
	ID    uint64
	Value int64
	Error int32
	Flags uint32
}

func ioctl(fd int, request uintptr, p unsafe.Pointer) syscall.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(p))
	return errno
}

// install gives the calling thread a filter that hands these calls to whoever
// has the descriptor that it returns.
func install(calls []int) (int, error) {
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offsetOfNumber}}
	for _, nr := range calls {
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(nr)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retNotify})
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: retAllow})
	f := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, setModeFilter, newListener|waitKillable, uintptr(unsafe.Pointer(&f)))
	if errno != 0 {
		return 0, errno
	}
	return int(fd), nil
}

// pathArg is added to the number of an argument that is a path's address; without
// it the argument is a descriptor, and -1 stands for neither.
const pathArg = 10

type call struct{ nr, arg int }

func nameOf(nr int32) string {
	for name, c := range numbers {
		if c.nr == int(nr) {
			return name
		}
	}
	return "?"
}

// numbers are the calls that can be made to fail: those that mean the same on
// every processor.
var numbers = map[string]call{
	"openat":            {unix.SYS_OPENAT, 1 + pathArg},
	"mkdirat":           {unix.SYS_MKDIRAT, 1 + pathArg},
	"renameat":          {unix.SYS_RENAMEAT, 1 + pathArg},
	"renameat2":         {unix.SYS_RENAMEAT2, 1 + pathArg},
	"unlinkat":          {unix.SYS_UNLINKAT, 1 + pathArg},
	"linkat":            {unix.SYS_LINKAT, 1 + pathArg},
	"symlinkat":         {unix.SYS_SYMLINKAT, 0 + pathArg},
	"readlinkat":        {unix.SYS_READLINKAT, 1 + pathArg},
	"faccessat":         {unix.SYS_FACCESSAT, 1 + pathArg},
	"faccessat2":        {unix.SYS_FACCESSAT2, 1 + pathArg},
	"fchmodat":          {unix.SYS_FCHMODAT, 1 + pathArg},
	"utimensat":         {unix.SYS_UTIMENSAT, 1 + pathArg},
	"chdir":             {unix.SYS_CHDIR, 0 + pathArg},
	"execve":            {unix.SYS_EXECVE, 0 + pathArg},
	"fchmod":            {unix.SYS_FCHMOD, 0},
	"fsync":             {unix.SYS_FSYNC, 0},
	"fdatasync":         {unix.SYS_FDATASYNC, 0},
	"flock":             {unix.SYS_FLOCK, 0},
	"fcntl":             {unix.SYS_FCNTL, 0},
	"fstat":             {unix.SYS_FSTAT, 0},
	"ftruncate":         {unix.SYS_FTRUNCATE, 0},
	"getdents64":        {unix.SYS_GETDENTS64, 0},
	"lseek":             {unix.SYS_LSEEK, 0},
	"read":              {unix.SYS_READ, 0},
	"write":             {unix.SYS_WRITE, 0},
	"pread64":           {unix.SYS_PREAD64, 0},
	"pwrite64":          {unix.SYS_PWRITE64, 0},
	"close":             {unix.SYS_CLOSE, 0},
	"dup3":              {unix.SYS_DUP3, 0},
	"ioctl":             {unix.SYS_IOCTL, 0},
	"epoll_ctl":         {unix.SYS_EPOLL_CTL, 2},
	"epoll_create1":     {unix.SYS_EPOLL_CREATE1, -1},
	"eventfd2":          {unix.SYS_EVENTFD2, -1},
	"inotify_init1":     {unix.SYS_INOTIFY_INIT1, -1},
	"inotify_add_watch": {unix.SYS_INOTIFY_ADD_WATCH, 1 + pathArg},
	"pipe2":             {unix.SYS_PIPE2, -1},
	"clone":             {unix.SYS_CLONE, -1},
	"clone3":            {unix.SYS_CLONE3, -1},
	"setsid":            {unix.SYS_SETSID, -1},
	"getsid":            {unix.SYS_GETSID, -1},
	"kill":              {unix.SYS_KILL, -1},
	"prctl":             {unix.SYS_PRCTL, -1},
	"waitid":            {unix.SYS_WAITID, -1},
	"wait4":             {unix.SYS_WAIT4, -1},
	"pidfd_open":        {unix.SYS_PIDFD_OPEN, -1},
	"pidfd_send_signal": {unix.SYS_PIDFD_SEND_SIGNAL, 0},
	"getrandom":         {unix.SYS_GETRANDOM, -1},
	"uname":             {unix.SYS_UNAME, -1},
	"socket":            {unix.SYS_SOCKET, -1},
	"ppoll":             {unix.SYS_PPOLL, -1},
	"prlimit64":         {unix.SYS_PRLIMIT64, -1},
	"rt_sigaction":      {unix.SYS_RT_SIGACTION, -1},
	"statfs":            {unix.SYS_STATFS, 0 + pathArg},
	"newfstatat":        {statAt(), 1 + pathArg},
}

// statAt is a number whose name x/sys spells by the processor.
func statAt() int {
	if runtime.GOARCH == "amd64" {
		return 262
	}
	return 79 // arm64, riscv64, loong64
}

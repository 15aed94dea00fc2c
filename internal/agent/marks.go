package agent

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// The variables that a child is marked with; see the package comment.
const (
	EnvRun   = "ACP_SHIM_RUN"
	EnvProc  = "ACP_SHIM_PROC"
	EnvDepth = "ACP_SHIM_DEPTH"
)

// MaxDepth is how many shims may stand in one another. A proxy in front of a
// proxy is legitimate; what goes beyond this is a copy or a wrapper of the shim
// that finds the shim as its agent.
const MaxDepth = 4

// NewRunID makes an id for this run of the shim.
func NewRunID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// validRunID keeps ids free of what the marks are joined with, and long enough
// that no other process matches by accident.
func validRunID(id string) bool {
	if len(id) < 8 || len(id) > 64 {
		return false
	}
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func procMark(run string, gen int) string { return run + "." + strconv.Itoa(gen) }

// Depth is how many shims are above this process, by its environment.
func Depth(getenv func(string) string) int {
	n, err := strconv.Atoi(getenv(EnvDepth))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// childEnv is the environment that the child of s gets.
func childEnv(s Spec, temp string) []string {
	base := s.Env
	if base == nil {
		base = os.Environ()
	}
	env := &environment{at: map[string]int{}}
	for _, kv := range base {
		env.add(kv)
	}
	for _, kv := range s.ExtraEnv {
		env.add(kv)
	}
	// A caller's own Env may have lost what an outer shim set; that shim must
	// still find this child.
	inherited := func(name string) string {
		if v, ok := env.get(name); ok {
			return v
		}
		return os.Getenv(name)
	}
	run, proc, depth := inherited(EnvRun), inherited(EnvProc), Depth(inherited)
	if s.RunID != "" {
		run = joinMark(run, s.RunID)
		proc = joinMark(proc, procMark(s.RunID, s.Gen))
	}
	if run != "" {
		env.add(EnvRun + "=" + run)
	}
	if proc != "" {
		env.add(EnvProc + "=" + proc)
	}
	env.add(EnvDepth + "=" + strconv.Itoa(depth+1))
	if temp != "" {
		for _, name := range []string{"TMPDIR", "TEMP", "TMP"} {
			env.add(name + "=" + temp)
		}
	}
	return env.list
}

// environment is a list of variables in which the last setting of a name wins
// and keeps its first place.
type environment struct {
	list []string
	at   map[string]int
}

func (e *environment) key(kv string) string {
	// Windows has names such as "=C:"; the first byte is never the separator.
	if i := strings.IndexByte(kv[min(1, len(kv)):], '='); i >= 0 {
		kv = kv[:i+1]
	}
	if runtime.GOOS == "windows" {
		kv = strings.ToUpper(kv)
	}
	return kv
}

func (e *environment) add(kv string) {
	if kv == "" {
		return
	}
	k := e.key(kv)
	if i, ok := e.at[k]; ok {
		e.list[i] = kv
		return
	}
	e.at[k] = len(e.list)
	e.list = append(e.list, kv)
}

func (e *environment) get(name string) (string, bool) {
	i, ok := e.at[e.key(name+"=")]
	if !ok {
		return "", false
	}
	_, v, _ := strings.Cut(e.list[i], "=")
	return v, true
}

// joinMark adds a mark to a list of them.
func joinMark(list, mark string) string {
	if list == "" {
		return mark
	}
	return list + ":" + mark
}

// carries reports whether an environment block (variables ended by NUL) has
// mark in the list that the variable name holds.
func carries(block []byte, name, mark string) bool {
	prefix := []byte(name + "=")
	for len(block) > 0 {
		var kv []byte
		kv, block, _ = bytes.Cut(block, []byte{0})
		list, ok := bytes.CutPrefix(kv, prefix)
		if !ok {
			continue
		}
		for len(list) > 0 {
			var one []byte
			one, list, _ = bytes.Cut(list, []byte{':'})
			if string(one) == mark {
				return true
			}
		}
	}
	return false
}

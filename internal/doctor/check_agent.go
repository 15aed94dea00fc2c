package doctor

import (
	"bufio"
	"errors"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"acp-shim/internal/agent"
	"acp-shim/internal/install"
)

func (x *Exam) agent() []Finding {
	f, err := x.found()
	var given *agent.GivenError
	var none *agent.NotFoundError
	switch {
	case errors.As(err, &none):
		p := problem("no agent was named, and none is in the usual places").
			remedy("install one with acp-shim agent install, or name it with --agent or ACP_SHIM_AGENT")
		p.Details = none.Tried
		return one(p)
	case errors.As(err, &given):
		return one(problem("the agent that %s names (%s) cannot be used: %s", given.Source, given.Command, given.Words).
			remedy("name one that can, or none, so that it is looked for"))
	case err != nil:
		return one(problem("%s", err))
	}
	found := ok("%s, by %s", x.tilde(f.Path), f.Source)
	found.Details = f.Tried
	return one(found)
}

// isAgy tells that the agent is the Antigravity server, by its file or by what it
// calls itself. One that is not there would have been it.
func (x *Exam) isAgy() bool {
	f, err := x.found()
	if err != nil || f.IsAgy {
		return true
	}
	return x.handshake().name() == "antigravity-acp"
}

// processor looks before the agent is started: it needs AVX, and without it dies
// with SIGILL before it says anything.
func (x *Exam) processor() []Finding {
	f, err := x.found()
	if err != nil || !f.IsAgy {
		return nil
	}
	if x.GOARCH == "arm64" && x.GOOS == "linux" {
		return one(x.addresses())
	}
	if x.GOARCH != "amd64" {
		return one(ok("%s", x.GOARCH))
	}
	if x.hasAVX() {
		return one(ok("x86-64 with AVX"))
	}
	return one(problem("this processor has no AVX, which the agent needs: it would die with SIGILL at once, and is not started").
		remedy("use a machine with AVX; in a virtual machine, give it the host's processor (QEMU: -cpu host)"))
}

// agentBits is how long the addresses are that the agent's allocator takes for
// granted on arm64; see tcmallocFault.
const agentBits = 48

// addresses looks how long addresses are here. The stack lies at the upper end of
// what a process has, so that the highest of its mappings tells.
func (x *Exam) addresses() Finding {
	f, err := os.Open(x.system("/proc/self/maps"))
	if err != nil {
		return ok("arm64")
	}
	defer f.Close()
	var top uint64
	lines := bufio.NewScanner(io.LimitReader(f, 16*mib))
	for lines.Scan() {
		_, rest, _ := strings.Cut(lines.Text(), "-")
		end, _, _ := strings.Cut(rest, " ")
		if n, err := strconv.ParseUint(end, 16, 64); err == nil {
			top = max(top, n)
		}
	}
	n := bits.Len64(top)
	if n == 0 || n >= agentBits {
		return ok("arm64")
	}
	return warning("this kernel gives processes addresses of %d bits: the agent will probably not start, by %s", n, tcmallocFault).
		remedy(tcmallocRemedy)
}

func (x *Exam) hasAVX() bool {
	f, err := os.Open(x.system("/proc/cpuinfo"))
	if err != nil {
		return x.AVX()
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, mib))
	for lines.Scan() {
		if name, flags, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "flags" {
			return strings.Contains(flags+" ", " avx ")
		}
	}
	return x.AVX()
}

const harnessEnv = "ANTIGRAVITY_HARNESS_PATH"

func (x *Exam) harness() []Finding {
	f, err := x.found()
	if err != nil || !f.IsAgy {
		return nil
	}
	name := "localharness_external"
	if x.GOOS == "windows" {
		name += ".exe"
	}
	if path := x.Getenv(harnessEnv); path != "" {
		return one(x.harnessAt(path, "named by "+harnessEnv, "correct "+harnessEnv+", or unset it"))
	}
	for _, kv := range f.Env {
		if path, ok := strings.CutPrefix(kv, harnessEnv+"="); ok {
			return one(x.harnessAt(path, "beside the link to the agent, and named to it", "install the agent again: acp-shim agent install"))
		}
	}
	beside := filepath.Join(filepath.Dir(f.Path), name)
	if _, err := os.Stat(beside); err != nil {
		return one(problem("%s is not beside the agent, and %s is not set: no session can be opened", name, harnessEnv).
			remedy("unpack the whole archive (acp-shim agent install), or set %s", harnessEnv))
	}
	return one(x.harnessAt(beside, "beside the agent", "install the agent again: acp-shim agent install"))
}

func (x *Exam) harnessAt(path, where, remedy string) Finding {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return problem("%s, %s, cannot be used: %s", x.tilde(path), where, because(err)).remedy("%s", remedy)
	case !info.Mode().IsRegular():
		return problem("%s, %s, is no file", x.tilde(path), where).remedy("%s", remedy)
	case x.GOOS != "windows" && info.Mode().Perm()&0o111 == 0:
		return problem("%s, %s, is not executable (mode %04o)", x.tilde(path), where, info.Mode().Perm()).remedy("chmod +x %s", path)
	}
	return ok("%s, %s", filepath.Base(path), where)
}

// user looks for the group that the server looks up before it reads its input,
// unless --uid= is given (report: it aborts with LookupGIDByGroupName).
func (x *Exam) user() []Finding {
	f, err := x.found()
	if err != nil || x.GOOS != "linux" || !x.isAgy() {
		return nil
	}
	for _, a := range f.Args {
		if a == "--uid=" || a == "--uid" {
			return one(ok("the agent is started with --uid= and looks up no group"))
		}
	}
	if h := x.handshake(); !h.skipped && h.err == nil {
		return one(ok("the agent starts without --uid="))
	}
	if x.hasGroup("nobody") {
		return one(ok("the group nobody is there"))
	}
	return one(warning("there is no group nobody, and the agent is not started with --uid=: it may abort with LookupGIDByGroupName").
		remedy("add --uid= to the agent's arguments, or the group: groupadd -r nobody"))
}

func (x *Exam) hasGroup(name string) bool {
	f, err := os.Open(x.system("/etc/group"))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 16*mib))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), name+":") {
			return true
		}
	}
	return false
}

// build says which build it is, by its own word and by where it lies.
func (x *Exam) build() []Finding {
	f, err := x.found()
	if err != nil {
		return nil
	}
	installed := ""
	if dir := filepath.Base(filepath.Dir(f.Path)); f.IsAgy && filepath.Base(filepath.Dir(filepath.Dir(f.Path))) == "agy-acp" {
		installed = ", installed as " + dir
	}
	if sum := install.ArchiveHash(filepath.Dir(f.Path)); f.IsAgy && sum != "" {
		installed += ", archive " + sum[:12] + "…"
	}
	h := x.handshake()
	if h.err != nil || h.skipped {
		if installed == "" {
			return nil
		}
		return one(ok("not asked%s", installed))
	}
	if h.name() == "" {
		return one(warning("the agent does not say what it is%s", installed))
	}
	return one(ok("%s %s%s", h.name(), h.version(), installed))
}

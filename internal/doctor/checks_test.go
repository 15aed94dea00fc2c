package doctor

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"acp-shim/internal/agent"
	"acp-shim/internal/client"
)

// row is a check and what must come of it.
type row struct {
	check, name string
	breaks      func(w *ward)
	level       Level
	text        string
	remedy      string
	fixes       bool
}

const hour = time.Hour

func rows() []row {
	gone := func(w *ward) { w.hs = &handshake{skipped: true} }
	settings := func(text string) func(*ward) {
		return func(w *ward) { w.file("home/.gemini/antigravity-acp/settings.json", text, 0o644) }
	}
	found := func(f agent.Found, err error) func(*ward) {
		return func(w *ward) { w.Find = func() (agent.Found, error) { return f, err } }
	}
	args := func(args ...string) func(*ward) {
		return func(w *ward) {
			w.hs = &handshake{err: errors.New("x")}
			f, _ := w.Find()
			f.Args = args
			w.Find = func() (agent.Found, error) { return f, nil }
		}
	}
	failed := func(err error, stderr string) func(*ward) {
		return func(w *ward) { w.hs = &handshake{err: err, stderr: stderr} }
	}
	orphan := func(p ...agent.Seen) func(*ward) {
		return func(w *ward) { w.seen = append(w.seen, p...) }
	}
	run := []string{"aaaaaaaa"}
	tcmalloc := "system_allocator.h:620] MmapAligned() failed - unable to allocate with tag\nTCMalloc assumes a 48-bit virtual address space size"
	return []row{
		{"shim", "in order", nil, OK, "acp-shim 1", "", false},
		{"shim", "not on PATH", func(w *ward) {
			w.LookPath = func(string) (string, error) { return "", os.ErrNotExist }
		}, Warning, "not on PATH", "whole path", false},
		{"shim", "another on PATH", func(w *ward) { w.Exe = w.file("other/acp-shim", "", 0o755) }, Warning, "another file", "remove one", false},
		{"shim", "inside a shim", func(w *ward) { w.env["ACP_SHIM_DEPTH"] = "2" }, Warning, "depth 2", "terminal of your own", false},

		{"config", "none", nil, OK, "no config file", "", false},
		{"config", "one", func(w *ward) { w.Config = w.path("home/c.json") }, OK, "~/c.json", "", false},
		{"config", "broken", func(w *ward) { w.ConfigErr = errors.New("the config file c: line 3: unknown key") }, Problem, "line 3", "correct it", false},

		{"state", "in order", nil, OK, "~/state", "", false},
		{"state", "no place", func(w *ward) { w.StateDir = "" }, Warning, "no place", "--state-dir", false},
		{"state", "not made", func(w *ward) { w.remove("home/state") }, OK, "made when it is needed", "", false},
		{"state", "cannot be made", func(w *ward) { w.remove("home/state"); w.closed[w.path("home")] = true }, Problem, "cannot be made", "--state-dir", false},
		{"state", "a file", func(w *ward) { w.StateDir = w.file("home/f", "", 0o600) }, Problem, "no directory", "--state-dir", false},
		{"state", "read-only", func(w *ward) { w.closed[w.path("home/state")] = true }, Problem, "not writable", "chmod", false},
		{"state", "open to others", func(w *ward) { w.StateDir = w.mkdir("home/acp-shim") }, Warning, "mode 0755", "chmod 700", true},
		{"state", "not the shim's alone", func(w *ward) { os.Chmod(w.StateDir, 0o755) }, Warning, "mode 0755", "the shim's alone", false},

		{"log", "not there", nil, OK, "acp-shim.log, not written yet", "", false},
		{"log", "in order", func(w *ward) { w.file("home/state/logs/acp-shim.log", "x", 0o600) }, OK, "acp-shim.log, 1 KiB", "", false},
		{"log", "none", func(w *ward) { w.LogFile = "" }, OK, "no log", "", false},
		{"log", "read-only", func(w *ward) { w.closed[w.path("home/state/logs")] = true }, Problem, "no log can be written", "--log-file", false},
		{"log", "cannot be made", func(w *ward) { w.remove("home/state"); w.closed[w.path("home")] = true }, Problem, "no log can be written", "--log-file", false},
		{"log", "below a file", func(w *ward) { w.remove("home/state"); w.file("home/state", "", 0o600) }, Problem, "no log can be written", "--log-file", false},
		{"log", "large", func(w *ward) {
			if err := os.Truncate(w.file("home/state/logs/acp-shim.log.2026-01-01", "", 0o600), 300*mib); err != nil {
				w.t.Fatal(err)
			}
		}, Warning, "300 MiB", "log less", false},

		{"capture", "none", nil, OK, "nothing is recorded", "", false},
		{"capture", "in order", func(w *ward) { w.Record = w.path("captures") }, OK, "captures go to", "", false},
		{"capture", "a new file", func(w *ward) { w.Record = w.path("captures/new.jsonl") }, OK, "captures go to", "", false},
		{"capture", "read-only", func(w *ward) { w.Record = w.path("captures/new.jsonl"); w.closed[w.path("captures")] = true }, Problem, "no capture can be written", "--record", false},
		{"capture", "full", func(w *ward) { w.Record = w.path("captures"); w.free = mib }, Warning, "1 MiB are free", "--record-keep-size", false},

		{"agent", "in order", nil, OK, "by PATH", "", false},
		{"agent", "none", found(agent.Found{}, &agent.NotFoundError{Tried: []string{"PATH: nothing"}}), Problem, "no agent was named", "agent install", false},
		{"agent", "not executable", found(agent.Found{}, &agent.GivenError{Source: "--agent", Command: "/x", Words: "not executable (mode 0644); make it so: chmod +x /x"}), Problem, "chmod +x", "name one", false},
		{"agent", "too deep", found(agent.Found{}, &agent.DepthError{Depth: 9}), Problem, "started by 9 others", "", false},

		{"processor", "in order", nil, OK, "with AVX", "", false},
		{"processor", "arm", func(w *ward) { w.GOARCH = "arm64" }, OK, "arm64", "", false},
		{"processor", "arm with 48 bits", func(w *ward) {
			w.GOARCH = "arm64"
			w.file("root/proc/self/maps", "aaaac1460000-aaaac1465000 r-xp 0 0:0 0 /x\nffffde800000-ffffde821000 rw-p 0 0:0 0 [stack]\n", 0o644)
		}, OK, "arm64", "", false},
		{"processor", "arm with 39 bits", func(w *ward) {
			w.GOARCH = "arm64"
			w.file("root/proc/self/maps", "5581460000-5581465000 r-xp 0 0:0 0 /x\n7fc451a000-7fc453b000 rw-p 0 0:0 0 [stack]\n", 0o644)
		}, Warning, "addresses of 39 bits", "VA_BITS=48", false},
		{"handshake", "no address space", failed(&client.GoneError{Exit: "was killed by SIGABRT", Stderr: tcmalloc}, ""), Problem, "got no address space", "ulimit", false},
		{"processor", "no AVX", func(w *ward) { w.file("root/proc/cpuinfo", "flags\t: fpu sse avx2x noavx\n", 0o644) }, Problem, "no AVX", "-cpu host", false},
		{"processor", "no AVX, by the library", func(w *ward) { w.remove("root/proc/cpuinfo"); w.avx = false }, Problem, "SIGILL", "AVX", false},

		{"harness", "beside", nil, OK, "beside the agent", "", false},
		{"harness", "missing", func(w *ward) { w.remove("opt/agy-acp/1.3.0/localharness_external") }, Problem, "not beside the agent", "ANTIGRAVITY_HARNESS_PATH", false},
		{"harness", "not executable", func(w *ward) { w.file("opt/agy-acp/1.3.0/localharness_external", "", 0o644) }, Problem, "mode 0644", "chmod +x", false},
		{"harness", "named", func(w *ward) {
			w.env[harnessEnv] = w.path("opt/agy-acp/1.3.0/localharness_external")
		}, OK, "named by ANTIGRAVITY_HARNESS_PATH", "", false},
		{"harness", "named wrongly", func(w *ward) { w.env[harnessEnv] = "/nowhere/h" }, Problem, "/nowhere/h", "unset it", false},

		{"user", "told", nil, OK, "--uid=", "", false},
		{"user", "there", args("--debug"), OK, "nobody is there", "", false},
		{"user", "not there", func(w *ward) { args("--debug")(w); w.file("root/etc/group", "root:x:0:\n", 0o644) }, Warning, "LookupGIDByGroupName", "groupadd", false},

		{"temporary", "in order", nil, OK, "10240 MiB free", "", false},
		{"temporary", "missing", func(w *ward) { w.env["TMPDIR"] = "/nowhere" }, Problem, "cannot be used", "TMPDIR", false},
		{"temporary", "read-only", func(w *ward) { w.closed[w.path("tmp")] = true }, Problem, "no temporary file", "TMPDIR", false},
		{"temporary", "little", func(w *ward) { w.free = 100 * mib }, Warning, "100 MiB", "make space", false},
		{"temporary", "full", func(w *ward) { w.free = mib }, Problem, "1 MiB", "make space", false},
		{"temporary", "noexec", func(w *ward) { w.noexec = true }, Warning, "noexec", "TMPDIR", false},
		{"temporary", "Windows, full", func(w *ward) { w.GOOS = "windows"; w.free = 1000 * mib }, Problem, "1.2 GB", "_MEI", false},

		{"leftovers", "none", nil, OK, "nothing was left", "", false},
		{"leftovers", "a private directory", func(w *ward) { w.aged("tmp/acp-shim-123", 2*hour) }, Warning, "acp-shim-123", "--fix", true},
		{"leftovers", "one in use", func(w *ward) {
			w.aged("tmp/acp-shim-123", 2*hour)
			w.seen = append(w.seen, agent.Seen{PID: 7, Temp: w.path("tmp/acp-shim-123")})
		}, OK, "nothing", "", false},
		{"leftovers", "one in use, by another way to it", func(w *ward) {
			w.aged("tmp/acp-shim-123", 2*hour)
			w.seen = append(w.seen, agent.Seen{PID: 7, Temp: "/private/tmp//acp-shim-123/sub"})
		}, OK, "nothing", "", false},
		{"leftovers", "a young one", func(w *ward) { w.aged("tmp/acp-shim-123", time.Minute) }, OK, "nothing", "", false},
		{"leftovers", "another program's", func(w *ward) { w.aged("tmp/acp-shim-demo-1", 2*hour); w.aged("tmp/x-1", 2*hour) }, OK, "nothing", "", false},
		{"leftovers", "nobody can tell", func(w *ward) { w.aged("tmp/acp-shim-123", 2*hour); w.seen = nil }, OK, "nothing", "", false},
		{"leftovers", "unpacked", func(w *ward) { w.aged("tmp/_MEI1", 25*hour) }, Warning, "_MEI1", "1.2 GB each", false},
		{"leftovers", "just unpacked", func(w *ward) { w.aged("tmp/_MEI1", 2*hour) }, OK, "nothing", "", false},
		{"leftovers", "killed shims", func(w *ward) {
			left := w.file("home/state/running/7.json", "{}", 0o600)
			w.Runs = func() ([]Run, error) {
				if _, err := os.Stat(left); err != nil {
					return nil, nil
				}
				return []Run{{File: left, Remove: func() error { return os.Remove(left) }}}, nil
			}
		}, Warning, "1 shim was killed", "--fix", true},
		{"leftovers", "no list of shims", func(w *ward) {
			w.Runs = func() ([]Run, error) { return nil, errors.New("reading the directory of running shims: x") }
		}, Warning, "running shims: x", "state directory", false},
		{"leftovers", "running shims", func(w *ward) {
			w.Runs = func() ([]Run, error) { return []Run{{Alive: true}}, nil }
		}, OK, "nothing", "", false},

		{"orphans", "none", orphan(agent.Seen{PID: 7, PPID: 100, Name: "agy_acp_server.par", Runs: run}), OK, "no process", "", false},
		{"orphans", "no table", func(w *ward) { w.seen = nil }, OK, "does not tell", "", false},
		{"orphans", "ours", orphan(agent.Seen{PID: 7, PPID: 1, Name: "agy_acp_server.par", Runs: run}, agent.Seen{PID: 8, PPID: 7, Name: "sh", Runs: run}), Warning, "2 processes", "--fix", true},
		{"orphans", "ours on darwin", func(w *ward) {
			w.GOOS = "darwin"
			orphan(agent.Seen{PID: 7, PPID: 1, Name: "sh", Runs: run})(w)
		}, Warning, "pid 7", "kill -9 7", false},
		{"orphans", "a living shim among them", orphan(
			agent.Seen{PID: 7, PPID: 1, Name: "sh", Runs: run}, agent.Seen{PID: 8, PPID: 7, Name: "acp-shim", Runs: run}, agent.Seen{PID: 9, PPID: 7, Name: "other", Runs: run},
			agent.Seen{PID: 10, PPID: 8, Name: "acp-shim", Guards: "bbbbbbbb"}, agent.Seen{PID: 11, PPID: 8, Name: "agy_acp_server.par", Runs: []string{"aaaaaaaa", "bbbbbbbb"}}),
			OK, "no process", "", false},
		{"orphans", "with a guard", orphan(agent.Seen{PID: 7, PPID: 1, Name: "sh", Runs: run}, agent.Seen{PID: 9, PPID: 1, Name: "acp-shim", Guards: "aaaaaaaa"}), OK, "no process", "", false},
		{"orphans", "with a status", func(w *ward) {
			w.Runs = func() ([]Run, error) { return []Run{{ID: "aaaaaaaa", Alive: true}}, nil }
			orphan(agent.Seen{PID: 7, PPID: 1, Name: "sh", Runs: run})(w)
		}, OK, "no process", "", false},
		{"orphans", "no list of shims", func(w *ward) {
			w.Runs = func() ([]Run, error) { return nil, errors.New("reading the directory of running shims: x") }
			orphan(agent.Seen{PID: 7, PPID: 1, Name: "sh", Runs: run})(w)
		}, Warning, "running shims: x", "if no shim of yours needs them", false},
		{"orphans", "a shim that does not say which it is", func(w *ward) {
			w.Runs = func() ([]Run, error) { return []Run{{File: "9.json", Alive: true}}, nil }
			orphan(agent.Seen{PID: 7, PPID: 1, Name: "sh", Runs: run})(w)
		}, Warning, "which it is, by 9.json", "if no shim of yours needs them", false},
		{"orphans", "under a shim that is the first process", func(w *ward) {
			w.seen = []agent.Seen{{PID: 1, Name: "acp-shim"}, {PID: 7, PPID: 1, Name: "sh", Runs: run}}
		}, OK, "no process", "", false},
		{"orphans", "this very process", func(w *ward) {
			w.seen = []agent.Seen{{PID: 1, Name: "init"}, {PID: 99, PPID: 1, Name: "sh", Runs: run}, {PID: 100, PPID: 99, Name: "acp-shim", Runs: run}}
		}, OK, "no process", "", false},
		{"orphans", "another client's", orphan(agent.Seen{PID: 7, PPID: 1, Name: "localharness_external"}), Warning, "which no shim has started", "kill 7", false},

		{"home", "by default", nil, OK, "~/.gemini, by default", "", false},
		{"home", "not there", func(w *ward) { w.env["GEMINI_HOME"] = w.path("home/g") }, OK, "the agent makes it", "", false},
		{"home", "relative", func(w *ward) { w.env["GEMINI_HOME"] = "g" }, Problem, "wherever the editor", "from the root", false},
		{"home", "none", func(w *ward) { w.env["HOME"] = "" }, Problem, "neither", "set HOME", false},
		{"home", "read-only", func(w *ward) { w.closed[w.path("home/.gemini")] = true }, Problem, "not writable", "chmod", false},
		{"home", "cannot be made", func(w *ward) { w.env["GEMINI_HOME"] = w.path("home/g"); w.closed[w.path("home")] = true }, Problem, "cannot be made", "GEMINI_HOME", false},
		{"home", "a file", func(w *ward) { w.env["GEMINI_HOME"] = w.file("home/g", "", 0o600) }, Problem, "no directory", "remove the file", false},
		{"home", "another agent", func(w *ward) {
			found(agent.Found{Path: "/x"}, nil)(w)
			w.hs.result = gjson.Parse(`{"agentInfo":{"name":"gemini-cli"}}`)
			w.env["GEMINI_HOME"] = "g"
		}, "", "", "", false},

		{"login", "personal", nil, OK, "oauth-personal", "", false},
		{"login", "none", func(w *ward) { settings(`{}`)(w); w.remove("home/.gemini/antigravity-acp/acp_token.json") }, Warning, "no login is chosen", "acp-shim login", false},
		{"login", "none, and a token", settings(`{}`), OK, "a login with Google is kept", "", false},
		{"login", "a directory", func(w *ward) {
			w.remove("home/.gemini/antigravity-acp/settings.json")
			w.mkdir("home/.gemini/antigravity-acp/settings.json")
		}, Problem, "settings.json cannot be used: it is no file", "correct it", false},
		{"login", "a byte order mark", settings("\ufeff{}"), Problem, "byte order mark", "correct it", false},
		{"login", "huge", settings(strings.Repeat(" ", 17*mib)), Problem, "settings.json cannot be used: is larger than 16 MiB", "correct it", false},
		{"login", "no file", func(w *ward) { w.remove("home/.gemini") }, Warning, "no login is chosen", "acp-shim login", false},
		{"login", "broken", settings("{\n\"auth\":}"), Problem, "line 2", "correct it", false},
		{"login", "a list", settings("[]"), Problem, "no JSON object", "correct it", false},
		{"login", "unknown", settings(`{"auth":{"type":"oauth"}}`), Problem, `"oauth"`, "auth.type is one of oauth-personal", false},
		{"login", "no key", settings(`{"auth":{"type":"gemini-api-key"}}`), Problem, "what it needs is not here", "GEMINI_API_KEY", false},
		{"login", "a key", func(w *ward) { settings(`{"auth":{"type":"gemini-api-key"}}`)(w); w.env["GEMINI_API_KEY"] = "k" }, OK, "gemini-api-key", "", false},
		{"login", "business", settings(`{"auth":{"type":"oauth-business"},"gcp":{"project":"p","location":"l"}}`), OK, "oauth-business", "", false},
		{"login", "business, no project", settings(`{"auth":{"type":"oauth-business"}}`), Problem, "what it needs is not here", "gcp.project", false},
		{"login", "business, by variables", func(w *ward) {
			settings(`{"auth":{"type":"oauth-business"}}`)(w)
			w.env["GOOGLE_CLOUD_PROJECT"], w.env["GOOGLE_CLOUD_LOCATION"] = "p", "l"
		}, Problem, "what it needs is not here", "gcp.project", false},
		{"login", "platform, nothing", settings(`{"auth":{"type":"agent-platform"},"gcp":{"project":"p"}}`), Problem, "what it needs is not here", "GOOGLE_API_KEY", false},
		{"login", "platform, by variables", func(w *ward) {
			settings(`{"auth":{"type":"agent-platform"}}`)(w)
			w.env["GOOGLE_CLOUD_PROJECT"], w.env["GOOGLE_CLOUD_LOCATION"] = "p", "l"
		}, OK, "agent-platform", "", false},
		{"login", "vertex, by a key", func(w *ward) { settings(`{"auth":{"type":"vertex-ai"}}`)(w); w.env["GOOGLE_API_KEY"] = "k" }, OK, "older name", "", false},

		{"token", "there", nil, OK, "for this user only", "", false},
		{"token", "open to others", func(w *ward) { w.file("home/.gemini/antigravity-acp/acp_token.json", "s", 0o644) }, Warning, "mode 0644", "chmod 600", true},
		{"token", "missing", func(w *ward) { w.remove("home/.gemini/antigravity-acp/acp_token.json") }, Problem, "there is no token", "acp-shim login", false},
		{"token", "empty", func(w *ward) { w.file("home/.gemini/antigravity-acp/acp_token.json", "", 0o600) }, Problem, "empty", "acp-shim login", false},
		{"token", "of the command line", func(w *ward) {
			w.remove("home/.gemini/antigravity-acp/acp_token.json")
			w.file("home/.gemini/antigravity-cli/antigravity-oauth-token", "x", 0o600)
		}, Problem, "does not count", "acp-shim login", false},
		{"token", "of gemini, and no login", func(w *ward) {
			w.remove("home/.gemini/antigravity-acp")
			w.file("home/.gemini/oauth_creds.json", "x", 0o600)
		}, Warning, "does not count", "acp-shim login", false},
		{"token", "not needed", func(w *ward) {
			w.remove("home/.gemini/antigravity-acp/acp_token.json")
			settings(`{"auth":{"type":"gemini-api-key"}}`)(w)
		}, OK, "none", "", false},

		{"handshake", "in order", nil, OK, "in 1.0 s, protocol version 1", "", false},
		{"handshake", "nothing to start", gone, "", "", "", false},
		{"handshake", "echoes", func(w *ward) { w.hs.result = gjson.Parse(`{"protocolVersion":99}`) }, Warning, "protocol version 99", "probe", false},
		{"handshake", "SIGILL", failed(&client.GoneError{Exit: "was killed by SIGILL: an instruction that this processor does not have (AVX?)", Before: "it answered initialize"}, ""), Problem, "SIGILL", "AVX", false},
		{"handshake", "TCMalloc", func(w *ward) {
			w.GOARCH = "arm64"
			failed(&client.GoneError{Exit: "was killed by SIGABRT", Stderr: tcmalloc}, "")(w)
		}, Problem, "the TCMalloc fault of some arm64 machines", "VA_BITS=48", false},
		{"handshake", "no group", failed(errors.New("the agent exited"), "F LookupGIDByGroupName(nobody)"), Problem, "the group nobody", "--uid=", false},
		{"handshake", "an unknown flag", failed(errors.New("the agent exited"), "FATAL Flags parsing error:"), Problem, "exited", "leave it out", false},
		{"handshake", "killed", failed(errors.New("the agent was killed by SIGKILL, not by the shim"), ""), Problem, "SIGKILL", "dmesg", false},
		{"handshake", "cannot be started", failed(&agent.StartError{Path: "/x", Words: "it is built for arm64"}, ""), Problem, "built for arm64", "install", false},
		{"handshake", "no object", func(w *ward) { w.hs.result = gjson.Parse(`"boo"`) }, Problem, "no object", "acp-shim probe", false},
		{"handshake", "a long refusal", failed(&client.RefusedError{Method: "initialize", Object: gjson.Parse(`{"code":7,"message":"` + strings.Repeat("y", mib) + `"}`)}, ""), Problem, "yyy…", "by hand", false},
		{"handshake", "late", failed(&client.LateError{Method: "initialize", After: time.Second}, ""), Problem, "did not answer", "by hand", false},

		{"build", "in order", nil, OK, "antigravity-acp 1.3.0, installed as 1.3.0, archive abababababab…", "", false},
		{"build", "not asked", gone, OK, "installed as 1.3.0", "", false},
		{"build", "no name", func(w *ward) { w.hs.result = gjson.Parse(`{}`) }, Warning, "does not say", "", false},
		{"build", "nothing known", func(w *ward) { gone(w); found(agent.Found{Path: "/x"}, nil)(w) }, "", "", "", false},

		{"session", "not asked", nil, "", "", "", false},
		{"session", "opened", func(w *ward) { w.Session = true; w.hs.sessionID = "s" }, OK, "was opened", "", false},
		{"session", "no login", func(w *ward) {
			w.Session = true
			w.hs.sessionErr = &client.RefusedError{Method: "session/new", Object: gjson.Parse(`{"code":-32000,"message":"Authentication required"}`)}
		}, Problem, "Authentication required", "acp-shim login", false},
		{"session", "no harness", func(w *ward) {
			w.Session = true
			w.hs.sessionErr = &client.RefusedError{Method: "session/new", Object: gjson.Parse(`{"code":-32603,"message":"x"}`)}
		}, Problem, "-32603", "harness", false},

		{"mcp", "none", nil, OK, "inject none", "", false},
		{"mcp", "broken", func(w *ward) { w.ServersErr = errors.New("--mcp: x") }, Problem, "--mcp: x", "correct it", false},
		{"mcp", "listens", func(w *ward) { w.Servers = []Server{{Name: "b", URL: "http://127.0.0.1:5/mcp?key=secret"}} }, OK, "127.0.0.1:5", "", false},
		{"mcp", "dead", func(w *ward) {
			w.Servers = []Server{{Name: "b", URL: "http://127.0.0.1/"}}
			w.deaf = syscall.ECONNREFUSED
		}, Warning, "127.0.0.1:80 (connection refused)", "start it", false},
		{"mcp", "no url", func(w *ward) { w.Servers = []Server{{Name: "b", URL: "ftp://user:secret@x"}} }, Problem, "http://", "correct", false},
		{"mcp", "a command", func(w *ward) { w.Servers = []Server{{Name: "c", Command: w.path("bin/acp-shim")}} }, OK, "is there", "", false},
		{"mcp", "no command", func(w *ward) { w.Servers = []Server{{Name: "c", Command: "/nowhere/tool"}} }, Warning, "cannot be started", "install it", false},
		{"mcp", "neither", func(w *ward) { w.Servers = []Server{{Name: "c"}} }, Problem, "neither", "correct", false},

		{"editors", "Zed", nil, OK, "Zed", "", false},
		{"editors", "none", func(w *ward) { w.remove("home/.config") }, Warning, "no editor", "acp-shim setup", false},
		{"editors", "not set up", func(w *ward) { w.file("home/.config/zed/settings.json", `{}`, 0o600) }, Warning, "not set up to start the shim", "acp-shim setup", false},
		{"editors", "broken", func(w *ward) { w.file("home/.config/zed/settings.json", "{\n\"a\":}", 0o600) }, Warning, "Zed: ", "correct that file", false},
		{"editors", "pi by its variable", func(w *ward) { w.remove("home/.config"); w.env["AGY_ACP_BIN"] = "/bin/acp-shim" }, OK, "AGY_ACP_BIN", "", false},
	}
}

func TestChecks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the table speaks of modes")
	}
	seen := map[string]map[Level]bool{}
	for _, r := range rows() {
		t.Run(r.check+"/"+r.name, func(t *testing.T) {
			w := newWard(t)
			if r.breaks != nil {
				r.breaks(w)
			}
			list := w.look(r.check)
			if r.level == "" {
				if len(list) > 0 {
					t.Fatalf("got %+v, want nothing", list)
				}
				return
			}
			if len(list) != 1 {
				t.Fatalf("got %d findings: %+v", len(list), list)
			}
			f := list[0]
			if f.Level != r.level || !strings.Contains(f.Text, r.text) || !strings.Contains(f.Remedy, r.remedy) {
				t.Errorf("got %+v", f)
			}
			if f.Level != OK && f.Remedy == "" && r.remedy != "" {
				t.Error("there is no remedy")
			}
			if len(f.Text) > 1000 {
				t.Errorf("it has %d bytes", len(f.Text))
			}
			if strings.Contains(f.Text+f.Remedy, "secret") {
				t.Error("it tells a secret")
			}
			if f.Fixable() != r.fixes {
				t.Errorf("fixable: %v", f.Fixable())
			}
		})
		if seen[r.check] == nil {
			seen[r.check] = map[Level]bool{}
		}
		seen[r.check][r.level] = true
	}
	for _, c := range Checks() {
		if !seen[c.Name][OK] || !seen[c.Name][Warning] && !seen[c.Name][Problem] {
			t.Errorf("the check %s is not shown both ways", c.Name)
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"acp-shim/internal/conversation"
	"acp-shim/internal/state"
	"acp-shim/proxy"
)

// remembered is a user's home with a state directory in it.
type remembered struct {
	t    *testing.T
	home string
	dir  *state.Dir
	env  []string
}

func newRemembered(t *testing.T) *remembered {
	t.Helper()
	home := t.TempDir()
	dir, err := state.Open(filepath.Join(home, "state"))
	if err != nil {
		t.Fatal(err)
	}
	return &remembered{t, home, dir, []string{playsMain + "=1", "GORACE=atexit_sleep_ms=0", "PATH=" + os.Getenv("PATH"), "HOME=" + home, "USERPROFILE=" + home, "ACP_SHIM_STATE_DIR=" + dir.Path()}}
}

func (r *remembered) save(home string, rec proxy.Record) {
	r.t.Helper()
	s, err := r.dir.Sessions("agy", home, true)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := s.Save(rec); err != nil {
		r.t.Fatal(err)
	}
}

// run runs acp-shim sessions with args.
func (r *remembered) run(args ...string) (stdout, stderr string, code int) {
	r.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"sessions"}, args...)...)
	cmd.Args[0] = "acp-shim"
	cmd.Env = r.env
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		r.t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// says runs it and wants an exit code, and the words in what it prints.
func (r *remembered) says(args string, code int, words ...string) string {
	r.t.Helper()
	out, said, got := r.run(strings.Fields(args)...)
	if got != code {
		r.t.Errorf("sessions %s: exit code %d, not %d:\n%s%s", args, got, code, out, said)
	}
	if code == 0 && said != "" {
		r.t.Errorf("sessions %s: on stderr: %s", args, said)
	}
	for _, w := range words {
		if !strings.Contains(out+said, w) {
			r.t.Errorf("sessions %s: %q is missing in\n%s%s", args, w, out, said)
		}
	}
	return out
}

func TestSessionsList(t *testing.T) {
	r := newRemembered(t)
	one, two := filepath.Join(r.home, "one"), filepath.Join(r.home, "two")
	r.save(one, proxy.Record{ID: "aaa1", Cwd: "/src", Config: []proxy.Setting{
		{Key: "model", Method: "session/set_model", Params: `{"modelId":"flash"}`},
		{Key: "mode", Method: "session/set_mode", Params: `{"modeId":"yolo"}`},
		{Key: "fast", Method: "session/set_config_option", Params: `{"configId":"fast","value":true}`}}})
	r.save(two, proxy.Record{ID: "aaa2", Real: "its2"})
	r.save(two, proxy.Record{ID: "bbb"})
	release, err := r.dir.Place("agy", two).Own("bbb")
	if err != nil {
		t.Fatal(err)
	}
	defer release()

	out := r.says("", 0)
	for _, row := range []string{
		`(?m)^SESSION +AGENT'S ID +AGENT +HOME +CWD +MODEL +MODE +OPTIONS +LAST USE +IN USE BY$`,
		`(?m)^bbb +- +agy +~/two +- +- +- +- +just now +pid ` + fmt.Sprint(os.Getpid()) + `\naaa2 `,
		`(?m)^aaa2 +its2 +agy +~/two +- +- +- +- +just now +-$`,
		`(?m)^aaa1 +- +agy +~/one +/src +flash +yolo +fast=true +just now +-$`,
	} {
		if !regexp.MustCompile(strings.ReplaceAll(row, "~/", `~[/\\]`)).MatchString(out) {
			t.Errorf("%s is missing in\n%s", row, out)
		}
	}
	for args, want := range map[string]string{
		"aaa": "aaa2 aaa1", "its": "aaa2", "zzz": "", "--home=" + one: "aaa1", "--home=" + two + " aaa": "aaa2",
		"--agent=agy b": "bbb", "--agent=other": "", "--older=1h": "", "--older=1ns": "bbb aaa2 aaa1",
	} {
		out := r.says(args, 0)
		var ids []string
		for _, line := range strings.Split(out, "\n")[1:] {
			id, _, _ := strings.Cut(line, " ")
			if id != "" {
				ids = append(ids, id)
			}
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%s: %q, wanted %q", args, got, want)
		}
		if want == "" && !strings.HasPrefix(out, "no such session is remembered in ") {
			t.Errorf("%s: %s", args, out)
		}
	}
	r.says("--older=soon", 2, "is no duration like 36h or 30d")

	var list []map[string]any
	if err := json.Unmarshal([]byte(r.says("--json", 0)), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || list[0]["id"] != "bbb" || list[0]["inUse"] != true || list[0]["pid"] != float64(os.Getpid()) ||
		list[1]["agentId"] != "its2" || list[2]["agentId"] != "aaa1" || list[2]["home"] != one || list[2]["model"] != "flash" ||
		list[2]["mode"] != "yolo" || list[2]["cwd"] != "/src" || list[2]["inUse"] != false || list[2]["options"].(map[string]any)["fast"] != true {
		t.Errorf("got %v", list)
	}
	used, err := time.Parse(time.RFC3339, list[0]["lastUse"].(string))
	if err != nil || time.Since(used) > time.Minute {
		t.Errorf("last use %v, %v", used, err)
	}
	if out := r.says("--json zzz", 0); out != "[]\n" {
		t.Errorf("nothing, as JSON: %q", out)
	}
}

// TestSessionsBeforeAny: a look leaves nothing behind.
func TestSessionsBeforeAny(t *testing.T) {
	r := newRemembered(t)
	if err := os.Remove(r.dir.Path()); err != nil {
		t.Fatal(err)
	}
	out := r.says("", 0, "no session is remembered in ~"+strings.TrimPrefix(r.dir.Path(), r.home))
	if strings.Count(out, "\n") != 1 {
		t.Errorf("it says %q", out)
	}
	r.says("--forget=s", 1, "no session s is remembered")
	if _, err := os.Stat(r.dir.Path()); err == nil {
		t.Error("the directory was made")
	}
}

func TestSessionsOfAnUnknownHome(t *testing.T) {
	r := newRemembered(t)
	r.save("/some/where", proxy.Record{ID: "s"})
	abouts, _ := filepath.Glob(filepath.Join(r.dir.Path(), "sessions", "*", "about.json"))
	if len(abouts) != 1 || os.Remove(abouts[0]) != nil {
		t.Fatalf("there are %q", abouts)
	}
	if out := r.says("", 0); !regexp.MustCompile(`(?m)^s +unknown +unknown +- +- +just now`).MatchString(out) {
		t.Errorf("got\n%s", out)
	}
}

// TestSessionsShowNoControls has ids that would do something to a terminal.
func TestSessionsShowNoControls(t *testing.T) {
	r := newRemembered(t)
	evil := "a\x1b[2Jb\u009bc\u202ed\x7fe\tf\ng\U000e0041"
	r.save("/home/"+evil, proxy.Record{ID: evil, Real: evil + "2", Cwd: evil, Config: []proxy.Setting{
		{Key: evil, Method: "session/set_config_option", Params: "{\"value\":\"x\u009b\u202e\"}"}}})
	bad := regexp.MustCompile("[^\n -~]")
	for _, args := range [][]string{{}, {"--json"}, {"repair", evil}, {"--forget", evil + "x"}, {"--forget", evil}} {
		out, said, _ := r.run(args...)
		if found := bad.FindString(out + said); found != "" {
			t.Errorf("%q: %q is in\n%q", args, found, out+said)
		}
		if len(args) == 1 {
			var list []struct{ ID, AgentID, Cwd string }
			if err := json.Unmarshal([]byte(out), &list); err != nil || list[0].ID != evil || list[0].Cwd != evil {
				t.Errorf("%v, %q", err, list)
			}
		}
	}
	r.says("", 0, "no session is remembered")
}

func TestSessionsForget(t *testing.T) {
	r := newRemembered(t)
	r.save("/one", proxy.Record{ID: "s", Real: "its", Config: []proxy.Setting{{Key: "model", Method: "session/set_model", Params: `{"modelId":"m"}`}}})
	r.save("/two", proxy.Record{ID: "s"})
	r.save("/two", proxy.Record{ID: "t"})
	r.save("/two", proxy.Record{ID: "u"})
	r.says("--forget=s", 1, "means several sessions", "home /one", "home /two", "--home")
	release, err := r.dir.Place("agy", "/one").Own("s")
	if err != nil {
		t.Fatal(err)
	}
	r.says("--forget=s --home=/one", 1, fmt.Sprintf("in use by an acp-shim (pid %d)", os.Getpid()), "nothing was forgotten")
	r.says("--forget-all s", 0, "kept session s: it is in use", "1 forgotten, 1 kept")
	release()
	r.says("--forget=its", 0, "forgot session s (agent agy, home /one): its model, that it is the agent's its", "own conversations are untouched")
	r.says("--forget=it", 1, "no session it is remembered")
	r.save("/two", proxy.Record{ID: "beef", Agent: "other-acp"})
	r.save("/two", proxy.Record{ID: "bead"})
	r.says("--forget=be", 1, "be means several sessions", "beef (agent other-acp, home /two)", "bead (agent agy, home /two)")
	r.says("--forget=bee", 0, "forgot session beef")
	r.says("--forget=b", 0, "forgot session bead")
	r.says("--forget=s --forget-all", 2)
	r.says("--forget-all --older=30d", 0, "0 forgotten, 0 kept")
	r.says("--forget-all", 0, "forgot session t", "forgot session u", "2 forgotten")
	r.says("", 0, "no session is remembered")
	r.says("s --forget=t", 2, "--forget names the one session")
	r.says("--older=1h --forget=t", 2, "--forget names the one session")
}

// TestRepairFindsTheSession is about which conversation is meant; what is done
// with it is internal/conversation's. No program is there, so that nothing is.
func TestRepairFindsTheSession(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("who has a file open cannot be seen there")
	}
	r := newRemembered(t)
	one, two := filepath.Join(r.home, "it's one"), filepath.Join(r.home, ".gemini")
	r.env = append(r.env, "PATH="+r.home)
	for _, path := range []string{conversation.Dir(one) + "/its.db", conversation.Dir(two) + "/mine.db", conversation.Dir(two) + "/both.db", conversation.Dir(one) + "/both.db", r.home + "/else.db"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("SQLite format 3\x00"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r.save(one, proxy.Record{ID: "s", Real: "its"})
	r.save(two, proxy.Record{ID: "mine"})
	r.save(one, proxy.Record{ID: "both"})
	r.save(two, proxy.Record{ID: "both"})
	for args, path := range map[string]string{
		"s":                                conversation.Dir(one) + "/its.db",
		"its":                              conversation.Dir(one) + "/its.db",
		"it":                               conversation.Dir(one) + "/its.db",
		"m":                                conversation.Dir(two) + "/mine.db",
		"mine":                             conversation.Dir(two) + "/mine.db",
		"both --home=" + two:               conversation.Dir(two) + "/both.db",
		conversation.Dir(two) + "/mine.db": conversation.Dir(two) + "/mine.db",
		r.home + "/else.db":                r.home + "/else.db",
	} {
		r.says("repair "+args, 1, "conversation: "+strings.Replace(path, r.home, "~", 1)+"\n", "sqlite3 is needed", "apt install sqlite3",
			"cd '"+strings.ReplaceAll(filepath.Dir(path), "'", `'\''`)+"'\n", "'UPDATE steps SET status=5 WHERE status=2'")
	}
	r.says("repair both", 1, "means several sessions")
	r.says("repair none", 1, "no such conversation", strings.Replace(conversation.Dir(two), r.home, "~", 1)+"/none.db is not there", "nothing is remembered of it")
	r.says("repair "+r.home+"/none.db", 1, "no such conversation")

	// Nobody may use it meanwhile, by whatever name.
	for _, owned := range []struct{ home, id, args string }{{one, "s", "its"}, {one, "its", "s"}, {two, "mine", "mine"}} {
		release, err := r.dir.Place("agy", owned.home).Own(owned.id)
		if err != nil {
			t.Fatal(err)
		}
		r.says("repair "+owned.args, 1, fmt.Sprintf("in use by an acp-shim (pid %d)", os.Getpid()), "nothing was changed")
		release()
	}
	if locks, _ := filepath.Glob(filepath.Join(r.dir.Path(), "sessions", "*", "*.lock")); len(locks) > 0 {
		t.Errorf("left: %q", locks)
	}
}

func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "just now", 59 * time.Second: "just now", 3 * time.Minute: "3 min ago", 61 * time.Minute: "1 h ago",
		47 * time.Hour: "47 h ago", 49 * time.Hour: "2 days ago", 100 * 24 * time.Hour: "100 days ago",
	} {
		if got := ago(d); got != want {
			t.Errorf("%v: %q", d, got)
		}
	}
}

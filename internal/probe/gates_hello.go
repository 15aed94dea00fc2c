package probe

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/tidwall/gjson"
)

func helloGates() []*gate {
	return []*gate{
		{id: "hello", title: "handshake", phase: first,
			criterion: "initialize is answered with protocolVersion, agentCapabilities and authMethods", source: acp + "initialization", run: hello},
		{id: "version", title: "protocol version 99", phase: first,
			criterion: "a version that the agent does not know is answered with the latest one that it does", source: acp + "initialization", run: protocolVersion},
		{id: "auth", title: "auth methods", phase: first,
			criterion: "each of authMethods has an id and a name", source: acp + "initialization", run: authMethods},
		{id: "auth.none", title: "session/new with an empty home",
			criterion: "without a login session/new works, or is refused with -32000 and says what to do", source: acp + "session-setup", run: unauthenticated},
		sessionGate(),
	}
}

func sessionGate() *gate {
	return &gate{id: "session", title: "session/new", phase: first,
		criterion: "a session is opened, with an id", source: acp + "session-setup", run: openSession}
}

func hello(t *trial) {
	a := t.helloA
	p := t.greeted
	t.prove(p, 0, a.Index)
	if a.Error.Exists() {
		t.fail("initialize was refused: %s", describe(a.Error))
	}
	info := a.Result.Get("agentInfo")
	t.fact("name", "%s", info.Get("name").String())
	t.fact("version", "%s", info.Get("version").String())
	t.fact("capabilities", "%s", strings.Join(offered(a.Result.Get("agentCapabilities"), "", 0, nil), ", "))
	name := "an agent without a name"
	if info.Get("name").Str != "" {
		name = clip(info.Get("name").Str, 60) + " " + clip(info.Get("version").String(), 60)
	}
	var lacks []string
	protocol := a.Result.Get("protocolVersion")
	if !wholeNumber(protocol) {
		t.fail("%s: protocolVersion is %s, and ACP has a whole number there", name, cmp.Or(clip(protocol.Raw, 40), "lacking"))
	}
	// Absent they mean none (the schema's defaults); a client that reads them
	// without looking is what suffers.
	for _, one := range []struct {
		name string
		is   func(gjson.Result) bool
	}{{"agentCapabilities", gjson.Result.IsObject}, {"authMethods", gjson.Result.IsArray}} {
		switch v := a.Result.Get(one.name); {
		case !v.Exists():
			lacks = append(lacks, one.name)
		case !one.is(v):
			t.fail("%s: %s is %s, which ACP does not have there", name, one.name, clip(v.Raw, 40))
		}
	}
	switch {
	case len(lacks) > 0:
		t.fallback("%s: the answer lacks %s, which then are none", name, strings.Join(lacks, ", "))
	case protocol.Int() != 1:
		t.fallback("%s: version 1 is answered with %s, which a client of version 1 must not go on with", name, clip(protocol.Raw, 20))
	}
	t.pass("%s, protocol %s", name, clip(protocol.Raw, 20))
}

func wholeNumber(v gjson.Result) bool {
	return v.Type == gjson.Number && v.Num >= 0 && v.Num <= 65535 && v.Num == math.Trunc(v.Num)
}

// offered are the paths of the capabilities that an agent has. An empty object is
// one (agentclientprotocol.com/protocol/initialization).
func offered(caps gjson.Result, path string, depth int, list []string) []string {
	caps.ForEach(func(key, v gjson.Result) bool {
		name := strings.TrimPrefix(path+"."+clip(key.Str, 40), ".")
		switch {
		case depth > 4 || len(list) > 40:
			return false
		case v.IsObject() && len(v.Map()) > 0:
			list = offered(v, name, depth+1, list)
		case v.Type == gjson.True, v.IsObject():
			list = append(list, name)
		case v.Type == gjson.Number, v.Type == gjson.String:
			list = append(list, name+"="+clip(v.String(), 40))
		}
		return true
	})
	return list
}

func protocolVersion(t *trial) {
	p, err := t.spawn(offers{})
	if err != nil {
		t.failed(err)
	}
	t.own = append(t.own, p)
	call := p.conn.Request("initialize", p.initParams("99"))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	if a.Error.Exists() {
		t.fact("version 99", "refused with %s", describe(a.Error))
		t.fail("version 99 is refused: %s", describe(a.Error))
	}
	got := a.Result.Get("protocolVersion")
	t.fact("version 99", "answered with %s", got.Raw)
	if got.Raw == "99" {
		t.fallback("99 is sent back, which says nothing about what the agent can do: send 1")
	}
	if !wholeNumber(got) || got.Int() < 1 {
		t.fail("version 99 is answered with %s", clip(got.Raw, 40))
	}
	t.pass("99 is answered with %s", clip(got.Raw, 20))
}

func authMethods(t *trial) {
	a := t.helloA
	t.prove(t.greeted, a.Index)
	list := a.Result.Get("authMethods").Array()
	var ids []string
	for _, m := range list {
		if m.Get("id").Str == "" || m.Get("name").Str == "" {
			t.fail("a method has no id or no name: %s", clip(m.Raw, 120))
		}
		ids = append(ids, clip(m.Get("id").Str, 60))
	}
	t.fact("methods", "%s", strings.Join(ids, ", "))
	if len(ids) == 0 {
		t.pass("none")
	}
	t.pass("%s", strings.Join(ids, ", "))
}

func openSession(t *trial) {
	p := t.borrow()
	call := p.conn.Request("session/new", t.newParams("[]"))
	a := t.await(p, call, t.opt.Timeout)
	t.prove(p, call.Index, a.Index)
	switch code := a.Error.Get("code").Int(); {
	case code == -32000:
		t.res.Next = "acp-shim login"
		t.fact("login", "needed")
		t.skip(WhyLogin, "the agent needs a login: %s", clip(a.Error.Get("message").Str, 120))
	case a.Error.Exists():
		t.fail("refused: %s", describe(a.Error))
	case a.Result.Get("sessionId").Str == "":
		t.fail("the answer has no sessionId")
	}
	t.took("session/new", a.Took())
	c := choicesOf(a.Result)
	if c.model.id != "" {
		t.fact("model", "%s", c.model.current)
		t.fact("models", "%s", strings.Join(c.model.values, ", "))
	}
	if c.mode.id != "" {
		t.fact("mode", "%s", c.mode.current)
		t.fact("modes", "%s", strings.Join(c.mode.values, ", "))
	}
	t.pass("opened; %d models, %d modes", len(c.model.values), len(c.mode.values))
}

// unauthenticated opens a session where nobody has logged in: an empty home, and
// no variable with a key.
func unauthenticated(t *trial) {
	home := t.path("home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.fail("no empty home could be made: %v", err)
	}
	var env []string
	for _, name := range []string{"HOME", "USERPROFILE"} {
		env = append(env, name+"="+home)
	}
	for name, dir := range map[string]string{"GEMINI_HOME": ".gemini", "GEMINI_CLI_HOME": "", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache", "CODEX_HOME": ".codex"} {
		env = append(env, name+"="+filepath.Join(home, dir))
	}
	for _, kv := range t.environ() {
		if name, _, _ := strings.Cut(kv, "="); keyName(name) {
			env = append(env, name+"=")
		}
	}
	p := t.fresh(offers{}, env...)
	call := p.conn.Request("session/new", t.newParams("[]"))
	ctx, cancel := t.within(t.opt.Timeout)
	defer cancel()
	a, err := call.Wait(ctx)
	if err != nil {
		t.prove(p, call.Index)
		t.failed(err)
	}
	t.prove(p, call.Index, a.Index)
	switch {
	case !a.Error.Exists():
		t.fact("session/new", "opened")
		t.pass("a session opens without a login")
	case a.Error.Get("code").Int() == -32000:
		t.fact("session/new", "-32000")
		if len(p.hello.Get("authMethods").Array()) == 0 && !says(a.Error.Get("data")) {
			t.fallback("refused: %s; neither it nor authMethods says what to do", describe(a.Error))
		}
		t.pass("refused: %s", describe(a.Error))
	}
	t.fact("session/new", "%d", a.Error.Get("code").Int())
	t.fail("refused with another code than -32000: %s", describe(a.Error))
}

// says tells data of an error that has something in it.
func says(data gjson.Result) bool {
	return data.Exists() && data.Type != gjson.Null && data.Raw != "{}" && data.Raw != "[]" && data.Raw != `""`
}

// keyName tells a variable that a login may be made of.
func keyName(name string) bool {
	for _, end := range []string{"_API_KEY", "_TOKEN", "_APPLICATION_CREDENTIALS", "_CLOUD_PROJECT"} {
		if strings.HasSuffix(strings.ToUpper(name), end) {
			return true
		}
	}
	return false
}

package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
)

// Gist is what matters of a record in a few words. It has text of the peers and is
// not clean.
func Gist(r *trace.Record) string {
	switch {
	case r.Kind == trace.Header:
		return ""
	case r.Kind == trace.Event:
		return eventGist(r)
	case !r.JSON:
		return Begin(strings.TrimSpace(string(r.Body)), head)
	case r.Kind == trace.Request || r.Kind == trace.Notification:
		p := gjson.GetBytes(r.Body, "params")
		if r.Update != "" {
			return updateGist(r.Update, p.Get("update"))
		}
		return askGist(r.Method, p)
	case r.Kind == trace.Response && r.Failed:
		return errorGist(gjson.GetBytes(r.Body, "error"))
	case r.Kind == trace.Response:
		return answerGist(r.Method, gjson.GetBytes(r.Body, "result"))
	}
	return Begin(string(r.Body), head)
}

// list is what a gist is made of: its parts that there are.
type list []string

func (l *list) add(text string) {
	if text != "" {
		*l = append(*l, text)
	}
}

// addf adds text made of values, unless the first of them is not there.
func (l *list) addf(format string, values ...gjson.Result) {
	if len(values) == 0 || !values[0].Exists() || values[0].Type == gjson.Null {
		return
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = Begin(v.String(), head)
	}
	l.add(strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (l list) String() string { return strings.Join(l, ", ") }

// askGist is what a request or a notification wants.
func askGist(method string, p gjson.Result) string {
	var l list
	switch method {
	case acp.AgentMethodInitialize:
		l.addf("%s %s", p.Get("clientInfo.name"), p.Get("clientInfo.version"))
		l.addf("protocol %s", p.Get("protocolVersion"))
		l.add(flags(p.Get("clientCapabilities"), "fs.readTextFile", "fs.writeTextFile", "terminal"))
	case acp.AgentMethodAuthenticate:
		l.addf("%s", first(p, "methodId", "method"))
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork:
		l.addf("%s", p.Get("cwd"))
		l.addf("mcp %s", names(p.Get("mcpServers"), "name"))
	case acp.AgentMethodSessionPrompt:
		return blocks(p.Get("prompt"))
	case acp.AgentMethodSessionSetMode:
		l.addf("%s", first(p, "modeId", "mode"))
	case "session/set_model":
		l.addf("%s", first(p, "modelId", "model"))
	case acp.AgentMethodSessionSetConfigOption:
		l.addf("%s = %s", first(p, "configId", "configOptionId"), p.Get("value"))
	case acp.AgentMethodSessionCancel, acp.AgentMethodSessionClose, acp.AgentMethodSessionDelete:
	case "$/cancel_request":
		l.addf("request %s", first(p, "requestId", "id"))
	case acp.ClientMethodSessionRequestPermission:
		call := p.Get("toolCall")
		l.addf("%s", first(call, "title", "toolCallId"))
		l.addf("(%s)", call.Get("kind"))
		text := strings.Join(l, " ")
		if options := names(p.Get("options"), "optionId"); options.Exists() {
			text += ": " + strings.ReplaceAll(options.Str, ", ", " | ")
		}
		return text
	case acp.ClientMethodFsReadTextFile:
		l.addf("%s", p.Get("path"))
		l.addf("from line %s", p.Get("line"))
		l.addf("%s lines", p.Get("limit"))
	case acp.ClientMethodFsWriteTextFile:
		l.addf("%s", p.Get("path"))
		l.add(Bytes(int64(len(p.Get("content").Str))))
	case acp.ClientMethodTerminalCreate:
		words := []string{Begin(p.Get("command").Str, head)}
		p.Get("args").ForEach(func(_, v gjson.Result) bool {
			words = append(words, Begin(v.String(), head))
			return len(words) < 50
		})
		return strings.Join(words, " ")
	case acp.ClientMethodTerminalOutput, acp.ClientMethodTerminalKill, acp.ClientMethodTerminalRelease, acp.ClientMethodTerminalWaitForExit:
		l.addf("%s", p.Get("terminalId"))
	case acp.ClientMethodElicitationCreate:
		l.addf("%s", p.Get("message"))
	default:
		return compact(p)
	}
	return l.String()
}

// answerGist is what was answered.
func answerGist(method string, x gjson.Result) string {
	var l list
	switch method {
	case acp.AgentMethodInitialize:
		l.addf("%s %s", first(x, "agentInfo.name", "agentInfo.title"), x.Get("agentInfo.version"))
		l.addf("protocol %s", x.Get("protocolVersion"))
		l.add(flags(x.Get("agentCapabilities"), "loadSession", "sessionCapabilities.list", "sessionCapabilities.resume",
			"sessionCapabilities.fork", "sessionCapabilities.close", "promptCapabilities.image", "promptCapabilities.audio",
			"promptCapabilities.embeddedContext", "mcpCapabilities.http", "mcpCapabilities.sse"))
		l.addf("login %s", names(x.Get("authMethods"), "id"))
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork:
		l.addf("%s", x.Get("models.currentModelId"))
		l.addf("%s", x.Get("modes.currentModeId"))
		if len(l) == 0 {
			l.add(configText(x.Get("configOptions")))
		}
	case acp.AgentMethodSessionSetConfigOption:
		l.add(configText(x.Get("configOptions")))
	case acp.AgentMethodSessionList:
		if s := x.Get("sessions"); s.IsArray() {
			l.add(Count(int(s.Get("#").Int()), "session"))
		}
	case acp.AgentMethodSessionPrompt:
		l.addf("%s", x.Get("stopReason"))
		l.add(usageText(x))
	case acp.ClientMethodSessionRequestPermission:
		l.addf("%s %s", x.Get("outcome.outcome"), x.Get("outcome.optionId"))
	case acp.ClientMethodFsReadTextFile:
		if c := x.Get("content"); c.Exists() {
			l.add(Count(strings.Count(c.Str, "\n")+1, "line") + ", " + Bytes(int64(len(c.Str))))
		}
	case acp.ClientMethodTerminalCreate:
		l.addf("%s", x.Get("terminalId"))
	case acp.ClientMethodTerminalOutput, acp.ClientMethodTerminalWaitForExit:
		status := x
		if method == acp.ClientMethodTerminalOutput {
			status = x.Get("exitStatus")
		}
		l.addf("exit %s", status.Get("exitCode"))
		l.addf("signal %s", status.Get("signal"))
		l.addf("%s", x.Get("output"))
	case acp.ClientMethodElicitationCreate:
		l.addf("%s", x.Get("action"))
	}
	if len(l) == 0 {
		return compact(x)
	}
	return l.String()
}

func errorGist(e gjson.Result) string {
	text := "error " + e.Get("code").String() + ": " + Begin(e.Get("message").String(), head)
	if d := e.Get("data"); d.Exists() && d.Type != gjson.Null {
		text += " " + compact(d)
	}
	return text
}

func eventGist(r *trace.Record) string {
	data := gjson.ParseBytes(r.Data)
	text := Begin(strings.TrimRight(string(r.Text), "\r\n"), head)
	if r.Event == "stderr" {
		text = withoutGlog(text)
	}
	var l list
	switch r.Event {
	case "gap":
		g, ok := r.Gap()
		if !ok {
			break
		}
		l.add(Count(int(g.Frames), "frame") + " and " + Count(int(g.Events), "event") + " are not here")
		l.add(Bytes(int64(g.Bytes)))
		if g.First > 0 {
			l.add(fmt.Sprintf("of seq %d to %d", g.First, g.Last))
		}
		l.add(g.Why)
		return l.String()
	case "end":
		l.add(Count(int(data.Get("frames").Int()), "frame"))
		l.add(Count(int(data.Get("events").Int()), "event"))
		l.add(Bytes(data.Get("bytes").Int()))
		if lost := data.Get("lost").Int(); lost > 0 {
			l.add(fmt.Sprintf("%d lost", lost))
		}
		return l.String()
	case "spawn":
		l.add(text)
		l.addf("pid %s", data.Get("pid"))
		return l.String()
	case "exit", "condemn":
		l.add(text)
		if n := data.Get("unsent").Int(); n > 0 {
			l.add(Bytes(n) + " queued for it were never sent")
		}
		return l.String()
	}
	if r.Data == nil {
		return text
	}
	return strings.TrimSpace(text + " " + compact(data))
}

// withoutGlog leaves out of the prefix of a glog line what is known from elsewhere,
// the time and the process:
//
//	I1130 12:48:26.057171   17048 agent.go:49] text
func withoutGlog(line string) string {
	word := strings.Fields(Begin(line, 80))
	if len(word) < 4 || len(word[0]) != 5 || !strings.ContainsRune("IWEF", rune(word[0][0])) || strings.Count(word[1], ":") != 2 {
		return line
	}
	_, rest, ok := strings.Cut(line, " "+word[2]+" ")
	if !ok || !strings.HasSuffix(word[3], "]") {
		return line
	}
	return word[0][:1] + " " + rest
}

// first is the first of some members that is there.
func first(v gjson.Result, paths ...string) gjson.Result {
	for _, p := range paths {
		if x := v.Get(p); x.Exists() && x.Type != gjson.Null {
			return x
		}
	}
	return gjson.Result{}
}

// names joins what the elements of a list have under a name. It is not there
// where the list is empty.
func names(v gjson.Result, member string) gjson.Result {
	var all []string
	if v.IsArray() {
		v.ForEach(func(_, e gjson.Result) bool {
			if n := e.Get(member); n.Exists() {
				all = append(all, Begin(n.String(), 100))
			}
			return len(all) < 20
		})
	}
	if len(all) == 0 {
		return gjson.Result{}
	}
	return gjson.Result{Type: gjson.String, Str: strings.Join(all, ", ")}
}

// flags are the names of the capabilities that are there and not false.
func flags(v gjson.Result, paths ...string) string {
	var all []string
	for _, p := range paths {
		if x := v.Get(p); x.Exists() && x.Type != gjson.False && x.Type != gjson.Null {
			all = append(all, p[strings.LastIndexByte(p, '.')+1:])
		}
	}
	return strings.Join(all, " ")
}

// compact is the beginning of a JSON value without what can be left out.
func compact(v gjson.Result) string {
	raw := v.Raw
	if raw == "" || raw == "{}" || raw == "null" {
		return ""
	}
	if v.Type == gjson.String {
		return Begin(v.Str, head)
	}
	if len(raw) <= 1<<16 {
		var b bytes.Buffer
		if json.Compact(&b, []byte(raw)) == nil {
			raw = b.String()
		}
	}
	return Begin(raw, head)
}

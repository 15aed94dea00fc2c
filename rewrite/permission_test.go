package rewrite

import (
	"strings"
	"testing"

	"acp-shim/proxy"
)

func TestPermissions(t *testing.T) {
	ask := func(options string) string {
		return `{"jsonrpc":"2.0","id":5,"method":"session/request_permission","params":{"sessionId":"s1","toolCall":{},"options":[` + options + `]}}`
	}
	const all = `{"optionId":"aa","kind":"allow_always"},{"optionId":"a","kind":"allow_once"},{"optionId":"ra","kind":"reject_always"},{"optionId":"r\u0031","kind":"reject_once"}`
	selected := func(id string) string {
		return `{"jsonrpc":"2.0","id":5,"result":{"outcome":{"outcome":"selected","optionId":` + id + `}}}`
	}
	const cancelled = `{"jsonrpc":"2.0","id":5,"result":{"outcome":{"outcome":"cancelled"}}}`
	for _, x := range []struct {
		mode          Mode
		options, want string
	}{
		{Allow, all, selected(`"a"`)},
		{Deny, all, selected(`"r\u0031"`)},
		{Allow, `{"optionId":"x","kind":"reject_once"},{"optionId":"aa","kind":"allow_always"}`, selected(`"aa"`)},
		{Allow, `{"optionId":"x","kind":"allow_this_week"}`, selected(`"x"`)},
		{Allow, `{"optionId":"x","kind":"reject_once"}`, cancelled},
		{Deny, `{"optionId":"x","kind":"allow_once"}`, cancelled},
		{Deny, ``, cancelled},
		{Allow, `{"optionId":7,"kind":"allow_once"},null`, cancelled},
	} {
		var prompt request
		a := &scripted{t: t, info: agyInfo("9.9", "")}
		var got string
		a.reply = func(_ *scripted, f request) string {
			switch {
			case f.Method == "session/prompt":
				prompt = f
				return ask(x.options)
			case f.Method == "" && string(f.ID) == "5":
				got = f.raw
				return prompt.result(ended)
			}
			return opens1(f)
		}
		p := a.inFront(NewPermissions(x.mode), newRewriter(t))
		p.ask(opened)
		p.ask(promptLine(2, "go"))
		p.end()
		if got != x.want {
			t.Errorf("%s of %s: the agent got %s, want %s", x.mode, x.options, got, x.want)
		}
		if strings.Contains(strings.Join(p.seen, "\n"), "asks") {
			t.Errorf("the client was asked: %q", p.seen)
		}
	}
	// With ask, the client answers.
	p := through(t, newRewriter(t), []proxy.Interceptor{NewPermissions(Ask)}, "--build", "rc01")
	p.ask(initialized)
	p.ask(opened)
	p.ask(promptLine(2, "ask"))
	if !strings.Contains(strings.Join(p.seen, "\n"), "asks allow_once,reject_once gets allow") {
		t.Errorf("got %q", p.seen)
	}
}

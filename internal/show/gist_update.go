package show

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
)

// updateGist is what an update of a session says.
func updateGist(kind string, u gjson.Result) string {
	var l list
	switch kind {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
		return block(u.Get("content"))
	case "tool_call", "tool_call_update":
		return toolGist(u, "")
	case "plan":
		if e := u.Get("entries"); e.IsArray() {
			done := 0
			e.ForEach(func(_, x gjson.Result) bool {
				if x.Get("status").Str == "completed" {
					done++
				}
				if x.Get("status").Str == "in_progress" {
					l.addf("%s", x.Get("content"))
				}
				return true
			})
			l = append(list{fmt.Sprintf("%d of %d done", done, e.Get("#").Int())}, l...)
		}
	case "available_commands_update":
		n := names(u.Get("availableCommands"), "name")
		if !n.Exists() {
			return "none"
		}
		return "/" + strings.ReplaceAll(n.Str, ", ", " /")
	case "current_mode_update":
		l.addf("%s", first(u, "currentModeId", "modeId"))
	case "config_option_update":
		l.add(configText(u.Get("configOptions")))
	case "usage_update":
		l.add(usageText(u))
	case "session_info_update":
		l.addf("%s", u.Get("title"))
	case "state_update":
		l.addf("%s", u.Get("state"))
	}
	if len(l) == 0 {
		return compact(u)
	}
	return l.String()
}

// Titles remembers what tool calls are called: their updates say it seldom. The
// zero Titles is ready.
type Titles struct{ known map[string]string }

// maxTitles bounds the calls that are remembered.
const maxTitles = 1 << 14

// See takes a record that comes before those of which the gist is wanted.
func (t *Titles) See(r *trace.Record) {
	if !aboutTool(r) {
		return
	}
	u := gjson.GetBytes(r.Body, "params.update")
	title := u.Get("title").Str
	if title == "" {
		return
	}
	if t.known == nil || len(t.known) >= maxTitles {
		t.known = map[string]string{}
	}
	t.known[toolKey(r, u)] = Begin(title, 200)
}

// Gist is that of a row, with the title of the tool call that it is about.
func (t *Titles) Gist(r *Row) string {
	if r.Count > 1 || !aboutTool(r.Record) {
		return r.Gist()
	}
	u := gjson.GetBytes(r.Body, "params.update")
	if u.Get("title").Str != "" {
		return toolGist(u, "")
	}
	return toolGist(u, t.known[toolKey(r.Record, u)])
}

func aboutTool(r *trace.Record) bool {
	return r.Update == "tool_call" || r.Update == "tool_call_update"
}

func toolKey(r *trace.Record, u gjson.Result) string {
	return fmt.Sprint(r.Run, " ", r.Session, " ", u.Get("toolCallId"))
}

// toolGist says of a tool call what it is, how far it is, and what came of it.
func toolGist(u gjson.Result, title string) string {
	var l list
	l.addf("[%s]", u.Get("kind"))
	l.addf("%s", u.Get("status"))
	l.addf("%s", u.Get("title"))
	l.add(title)
	u.Get("content").ForEach(func(_, c gjson.Result) bool {
		switch c.Get("type").Str {
		case "diff":
			l.addf("diff %s", c.Get("path"))
		case "terminal":
			l.addf("terminal %s", c.Get("terminalId"))
		default:
			if text := block(c.Get("content")); text != "" {
				l.add("“" + text + "”")
			}
		}
		return len(l) < 8
	})
	if len(u.Get("content").Array()) == 0 {
		if out := u.Get("rawOutput"); out.Exists() && out.Type != gjson.Null && out.String() != u.Get("title").Str {
			l.add("→ " + compact(out))
		}
	}
	if title == "" && !u.Get("title").Exists() {
		l.addf("(%s)", u.Get("toolCallId"))
	}
	return strings.Join(l, " ")
}

// blocks is the text of a prompt, and a word for what else is in it.
func blocks(v gjson.Result) string {
	if !v.IsArray() {
		return compact(v)
	}
	var l list
	v.ForEach(func(_, b gjson.Result) bool {
		l.add(block(b))
		return len(l) < 20
	})
	return strings.Join(l, " ")
}

// block is one block of content.
func block(c gjson.Result) string {
	switch kind := c.Get("type").Str; kind {
	case "text":
		return Begin(c.Get("text").Str, head)
	case "image", "audio":
		// Base64 has four letters for three bytes.
		return fmt.Sprintf("[%s %s %s]", kind, c.Get("mimeType").Str, Bytes(int64(len(c.Get("data").Str))*3/4))
	case "resource_link", "resource":
		return "[" + Begin(first(c, "uri", "resource.uri", "name").String(), head) + "]"
	}
	return compact(c)
}

// configText is the values of the options of a session.
func configText(v gjson.Result) string {
	var l list
	if v.IsArray() {
		v.ForEach(func(_, o gjson.Result) bool {
			l.addf("%s = %s", o.Get("id"), o.Get("currentValue"))
			return len(l) < 20
		})
	}
	return l.String()
}

// usageText is the tokens that are reported where the protocol has them.
func usageText(v gjson.Result) string {
	var l list
	if used := v.Get("used"); used.Exists() {
		text := used.String()
		if size := v.Get("size"); size.Num > 0 {
			text += fmt.Sprintf(" of %s tokens", size.String())
			if share := 100 * used.Num / size.Num; share >= 0.1 {
				text += fmt.Sprintf(" (%.1f%%)", share)
			}
		}
		l.add(text)
	}
	l.addf("cost %s %s", v.Get("cost.amount"), v.Get("cost.currency"))
	use := v.Get("usage")
	for _, f := range []struct{ member, format string }{
		{"inputTokens", "%s tokens in"}, {"outputTokens", "%s out"}, {"thoughtTokens", "%s thought"}, {"cachedReadTokens", "%s cached"},
	} {
		l.addf(f.format, use.Get(f.member))
	}
	if len(l) == 0 {
		l.addf("%s tokens", use.Get("totalTokens"))
	}
	return l.String()
}

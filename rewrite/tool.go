package rewrite

import (
	"bytes"
	"strings"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// titleLimit bounds how many titles are kept of a turn's tool calls.
const titleLimit = 1000

var wordToolCallID = []byte(`"toolCallId"`)

// toolDisplay shows an MCP tool's call as other agents show theirs.
func toolDisplay(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	if !bytes.Contains(m.Raw, wordToolCallID) {
		return
	}
	in := "update"
	if m.Method == methodPermission {
		in = "toolCall"
	}
	call, ok := m.At(m.Params, in)
	if !ok {
		return
	}
	list := m.Members(call)
	if kind, ok := member(list, "sessionUpdate"); ok && !strings.HasPrefix(m.String(kind.Value), "tool_call") {
		return
	}
	var p patch
	tool, _ := m.At(call, "_meta", "mcp", "tool")
	name := m.String(tool)
	title := ""
	if x, ok := member(list, "title"); ok {
		title = m.String(x.Value)
		if name != "" && strings.HasSuffix(title, "_"+name) {
			p.put(x.Value, wire.Quote(name))
		}
	}
	if t := r.turn(s); t != nil {
		if id, ok := member(list, "toolCallId"); ok {
			title = t.title(string(m.Text(id.Value)), title)
		}
	}
	if x, ok := member(list, "rawInput"); ok {
		if inner := m.Members(x.Value); len(inner) == 1 && inner[0].Name == "arguments" && opens(m, inner[0].Value, '{') {
			p.put(x.Value, string(m.Text(inner[0].Value)))
		}
	}
	if x, ok := member(list, "rawOutput"); ok && opens(m, x.Value, '"') {
		content, _ := member(list, "content")
		if text := contentText(m, content.Value); text != "" && isTitle(m.String(x.Value), title, name) {
			p.put(x.Value, wire.Quote(text))
		}
	}
	p.apply(m)
}

// title keeps the title of a tool call, since its updates come without one.
func (t *turn) title(id, title string) string {
	if title == "" {
		return t.titles[id]
	}
	if t.titles == nil {
		t.titles = map[string]string{}
	}
	if len(t.titles) < titleLimit && len(id) <= 256 && oneLine(title) {
		t.titles[id] = title
	}
	return title
}

// isTitle tells that an output says no more than what was called.
func isTitle(output, title, tool string) bool {
	if !oneLine(output) || output == "" {
		return false
	}
	return output == title || strings.Contains(title, output) || tool != "" && (output == tool || output == "Call "+tool)
}

// contentText is the text of a tool call's content.
func contentText(m *proxy.Message, content proxy.Span) string {
	var all []string
	for _, x := range m.Elements(content) {
		if at, ok := m.At(x, "content", "text"); ok && opens(m, at, '"') {
			all = append(all, m.String(at))
		}
	}
	return strings.Join(all, "\n")
}

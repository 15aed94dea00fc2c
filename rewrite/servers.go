package rewrite

import (
	"net/url"
	"strconv"
	"strings"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// serversMissing fills in the list that the agent requires where the client
// names no servers.
func serversMissing(_ *Rewriter, _ *proxy.Step, m *proxy.Message) {
	if !opens(m, m.Params, '{') {
		return
	}
	list := m.Members(m.Params)
	switch x, ok := member(list, "mcpServers"); {
	case ok && isNull(m, x.Value):
		m.Set(x.Value, "[]")
	case !has(list, "mcpServers"):
		m.Add(m.Params, "mcpServers", "[]")
	}
}

// serverEntries gives every entry the fields and shapes that the agent requires.
func serverEntries(_ *Rewriter, _ *proxy.Step, m *proxy.Message) {
	at, ok := m.At(m.Params, "mcpServers")
	if !ok || !m.Object() {
		return
	}
	var p patch
	for _, entry := range m.Elements(at) {
		normaliseEntry(m, entry, &p)
	}
	p.apply(m)
}

// normaliseEntry follows the schema's three kinds of entry: http and sse have a
// type and headers, stdio has no type, a command, args and env. An entry of
// another type is for the agent to judge.
func normaliseEntry(m *proxy.Message, entry proxy.Span, p *patch) {
	list := m.Members(entry)
	if list == nil {
		return
	}
	var missing []string
	kind := ""
	if x, ok := member(list, "type"); ok && !isNull(m, x.Value) {
		kind = m.String(x.Value)
	} else if u, ok := member(list, "url"); ok && m.String(u.Value) != "" {
		kind = typeByURL(m.String(u.Value))
		if has(list, "type") {
			p.put(x.Value, wire.Quote(kind))
		} else {
			missing = append(missing, `"type":`+wire.Quote(kind))
		}
	} else if has(list, "command") {
		kind = "stdio"
	}
	switch kind {
	case "http", "sse":
		missing = nameValues(m, list, "headers", missing, p)
	case "stdio":
		if x, ok := member(list, "args"); ok && isNull(m, x.Value) {
			p.put(x.Value, "[]")
		} else if !has(list, "args") {
			missing = append(missing, `"args":[]`)
		}
		missing = nameValues(m, list, "env", missing, p)
	}
	p.add(entry, list, missing...)
}

// nameValues makes the member a list of name and value.
func nameValues(m *proxy.Message, list []wire.Member, name string, missing []string, p *patch) []string {
	x, ok := member(list, name)
	switch {
	case !ok && !has(list, name):
		return append(missing, wire.Quote(name)+":[]")
	case !ok:
	case isNull(m, x.Value):
		p.put(x.Value, "[]")
	case opens(m, x.Value, '{'):
		if text, ok := listOf(m, x.Value); ok {
			p.put(x.Value, text)
		}
	}
	return missing
}

// listOf writes a map of names to values as a list. A map with a name given
// twice, or with values that are no scalars, stays as it is.
func listOf(m *proxy.Message, object proxy.Span) (string, bool) {
	var b strings.Builder
	seen := map[string]bool{}
	b.WriteByte('[')
	for i, x := range m.Members(object) {
		value := string(m.Text(x.Value))
		if seen[x.Name] || value == "null" || value[0] == '{' || value[0] == '[' {
			return "", false
		}
		seen[x.Name] = true
		if value[0] != '"' {
			value = wire.Quote(value) // a port number, a switch
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"name":` + string(m.Text(x.Key)) + `,"value":` + value + `}`)
	}
	b.WriteByte(']')
	return b.String(), true
}

// typeByURL tells the two transports apart that MCP has over HTTP, where nobody
// said which: servers of the old one are by custom reached at a path that ends
// in /sse, and one of the new one at such a path has not been seen.
func typeByURL(text string) string {
	u, err := url.Parse(text)
	if err == nil && strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/sse") {
		return "sse"
	}
	return "http"
}

// serverNames replaces dots in the names of servers. No two entries get the
// same name by it.
func serverNames(_ *Rewriter, _ *proxy.Step, m *proxy.Message) {
	at, ok := m.At(m.Params, "mcpServers")
	if !ok || !m.Object() {
		return
	}
	taken := map[string]int{} // the number that the next of its name may have
	var dotted []proxy.Span
	for _, entry := range m.Elements(at) {
		x, ok := m.Member(entry, "name")
		if !ok || !opens(m, x.Value, '"') {
			continue
		}
		if name := m.String(x.Value); strings.Contains(name, ".") {
			dotted = append(dotted, x.Value)
		} else {
			taken[name] = 2
		}
	}
	var p patch
	for _, at := range dotted {
		name := freeName(strings.ReplaceAll(m.String(at), ".", "-"), taken)
		p.put(at, wire.Quote(name))
	}
	p.apply(m)
}

func freeName(name string, taken map[string]int) string {
	free := name
	for taken[free] != 0 {
		n := taken[name]
		taken[name] = n + 1
		free = name + "-" + strconv.Itoa(n)
	}
	taken[free] = 2
	return free
}

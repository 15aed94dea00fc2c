package rewrite

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"acp-shim/internal/textfile"
	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// BridgeName is the name of the server that --bridge injects, and BridgeHeader
// the header that carries its token, as pi's bridge has them.
const (
	BridgeName   = "pi-bridge"
	BridgeHeader = "x-bridge-token"
)

// InjectOptions say which MCP servers every session gets.
type InjectOptions struct {
	Bridge      string   // a url
	BridgeToken string   // TOKEN, env:VAR or file:PATH
	MCP         []string // NAME=URL
	MCPHeaders  []string // NAME:KEY=VALUE; VALUE may be env:VAR or file:PATH
	MCPStdio    []string // NAME=COMMAND LINE
	MCPConfig   string   // a file of servers
	// Override has an injected server replace one of the client's of its name,
	// rather than give way to it.
	Override bool
	// Getenv reads variables; nil is os.Getenv.
	Getenv func(string) string
	// Changed is called when the file of servers has been read again, from the
	// goroutine that follows it. It may be nil.
	Changed func()
}

// Injector puts MCP servers into every frame that opens a session, also the
// shim's own when it brings one back: whatever is injected then is what is set
// at that moment. They come after the client's own servers.
type Injector struct {
	proxy.Base
	opt     InjectOptions
	flags   []server
	headers []header
	text    []byte // of the file of servers
	servers atomic.Pointer[[]server]
	watcher *Watcher
}

// header is one --mcp-header.
type header struct{ server, name, value string }

// NewInjector reads the settings. Its error is for the user and repeats no
// secret.
func NewInjector(opt InjectOptions) (*Injector, error) {
	in := &Injector{opt: opt}
	if err := in.readFlags(newSource(opt.Getenv)); err != nil {
		return nil, err
	}
	var file []server
	if opt.MCPConfig != "" {
		var err error
		if in.text, err = textfile.ReadOwn(opt.MCPConfig); err != nil {
			return nil, fmt.Errorf("--mcp-config: %w", err)
		}
		if file, err = in.readConfig(in.text); err != nil {
			return nil, err
		}
	}
	for _, h := range in.headers {
		if !h.fits(in.flags) && !h.fits(file) {
			return nil, fmt.Errorf("--mcp-header: there is no injected http server %q; give it with --mcp %s=URL", h.server, h.server)
		}
	}
	return in, in.use(file)
}

func (h header) fits(list []server) bool {
	for _, s := range list {
		if s.name == h.server && s.kind != "stdio" {
			return true
		}
	}
	return false
}

func (in *Injector) readFlags(src source) error {
	if in.opt.Bridge != "" {
		s := server{name: BridgeName, kind: "http", url: in.opt.Bridge, from: "--bridge"}
		if err := checkURL(s.url); err != nil {
			return fmt.Errorf("--bridge: %w", err)
		}
		if in.opt.BridgeToken != "" {
			token, err := src.value(in.opt.BridgeToken)
			if err != nil {
				return fmt.Errorf("--bridge-token: %w", err)
			}
			s.setHeader(BridgeHeader, token)
		}
		in.flags = append(in.flags, s)
	} else if in.opt.BridgeToken != "" {
		return fmt.Errorf("--bridge-token is given without --bridge")
	}
	for _, x := range in.opt.MCP {
		name, url, ok := strings.Cut(x, "=")
		if !ok || name == "" {
			return fmt.Errorf("--mcp is NAME=URL; there is no name and = before the url")
		}
		if err := checkURL(url); err != nil {
			return fmt.Errorf("--mcp %s: %w", name, err)
		}
		in.flags = append(in.flags, server{name: name, kind: typeByURL(url), url: url, from: "--mcp"})
	}
	for _, x := range in.opt.MCPStdio {
		name, line, ok := strings.Cut(x, "=")
		if !ok || name == "" {
			return fmt.Errorf("--mcp-stdio is NAME=COMMAND; there is no name and = before the command")
		}
		list, err := words(line)
		if err == nil && len(list) == 0 {
			err = fmt.Errorf("the command is empty")
		}
		if err != nil {
			return fmt.Errorf("--mcp-stdio %s: %w", name, err)
		}
		in.flags = append(in.flags, server{name: name, kind: "stdio", command: list[0], args: list[1:], from: "--mcp-stdio"})
	}
	for _, x := range in.opt.MCPHeaders {
		name, rest, ok := strings.Cut(x, ":")
		key, value, ok2 := strings.Cut(rest, "=")
		if !ok || !ok2 || name == "" || !headerName(key) {
			return fmt.Errorf("--mcp-header is NAME:KEY=VALUE, with a server's name and a header's")
		}
		v, err := src.value(value)
		if err != nil {
			return fmt.Errorf("--mcp-header %s:%s: %w", name, key, err)
		}
		in.headers = append(in.headers, header{name, key, v})
	}
	return nil
}

func (in *Injector) readConfig(text []byte) ([]server, error) {
	list, err := parseMCPConfig(text)
	if err == nil {
		_, err = in.join(list)
	}
	if err != nil {
		return nil, fmt.Errorf("--mcp-config %s: %w", in.opt.MCPConfig, err)
	}
	return list, nil
}

// join adds the file's servers to those of the flags, and the headers to both.
func (in *Injector) join(file []server) ([]server, error) {
	var all []server
	from := map[string]string{}
	for _, s := range append(append([]server(nil), in.flags...), file...) {
		if s.from == "" {
			s.from = "the file"
		}
		if first, taken := from[s.name]; taken {
			return nil, fmt.Errorf("the server %q is given twice, by %s and by %s", s.name, first, s.from)
		}
		from[s.name] = s.from
		s.headers = append([]nameValue(nil), s.headers...)
		for _, h := range in.headers {
			if h.server == s.name && s.kind != "stdio" {
				s.setHeader(h.name, h.value)
			}
		}
		if err := s.write(); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (in *Injector) use(file []server) error {
	all, err := in.join(file)
	if err == nil {
		in.servers.Store(&all)
	}
	return err
}

// Watch follows the file of servers, if there is one: what it says holds for
// every session that is opened from then on. failed is told why a file is not
// used; the servers then stay as they were.
func (in *Injector) Watch(failed func(error)) {
	if in.opt.MCPConfig == "" || in.watcher != nil {
		return
	}
	in.watcher = Watch(in.opt.MCPConfig, in.text, in.readConfig, func(list []server) {
		if err := in.use(list); err != nil {
			failed(err)
		} else if in.opt.Changed != nil {
			in.opt.Changed()
		}
	}, failed)
}

// Slow is [Watcher.Slow] of the file that is followed.
func (in *Injector) Slow() error {
	if in.watcher == nil {
		return nil
	}
	return in.watcher.Slow()
}

// Close ends the following of the file.
func (in *Injector) Close() {
	if in.watcher != nil {
		in.watcher.Close()
	}
}

// Names are the names of the servers that are injected now.
func (in *Injector) Names() []string {
	var names []string
	for _, s := range *in.servers.Load() {
		names = append(names, s.name)
	}
	return names
}

// FromClient puts the servers into a frame that opens a session.
func (in *Injector) FromClient(s *proxy.Step, m *proxy.Message) {
	if m.Kind != wire.Request || !opensSession(m.Method) {
		return
	}
	servers := *in.servers.Load()
	if len(servers) == 0 {
		return
	}
	list := m.Members(m.Params)
	if list == nil && !opens(m, m.Params, '{') || !m.Object() {
		in.leave(s, "its params are no object that can be changed")
		return
	}
	at, there := member(list, "mcpServers")
	if !there && has(list, "mcpServers") || there && !isNull(m, at.Value) && !opens(m, at.Value, '[') {
		in.leave(s, "its mcpServers are no list")
		return
	}
	var entries []proxy.Span
	if there {
		entries = m.Elements(at.Value)
	}
	own := map[string][]proxy.Span{} // the client's entries by name
	for _, e := range entries {
		if x, ok := m.Member(e, "name"); ok {
			own[m.String(x.Value)] = append(own[m.String(x.Value)], e)
		}
	}
	var p patch
	var added []string
	for _, x := range servers {
		if len(own[x.name]) > 0 && !in.opt.Override {
			continue
		}
		if !accepts(s.Agent(), x.kind) {
			if s.Own() {
				s.Log(slog.LevelWarn, "a server is not injected, since the agent does not offer its kind", "server", x.name, "kind", x.kind)
				continue
			}
			refuse(s, "an injected server of a kind that the agent does not offer",
				fmt.Sprintf("acp-shim: the injected MCP server %q is reached over %s, and this agent offers no mcpCapabilities.%s; leave it out, or give one that the agent starts with --mcp-stdio", x.name, x.kind, x.kind),
				map[string]any{"reason": "mcp_transport_not_offered", "server": x.name, "type": x.kind})
			return
		}
		if mine := own[x.name]; len(mine) > 0 {
			p.put(mine[0], x.text)
			for i := range entries {
				if slices.Contains(mine[1:], entries[i]) { // never the first one
					p.put(proxy.Span{Off: entries[i-1].End, End: entries[i].End}, "")
				}
			}
			continue
		}
		added = append(added, x.text)
	}
	text := strings.Join(added, ",")
	switch {
	case text == "":
	case !there:
		p.add(m.Params, list, `"mcpServers":[`+text+`]`)
	case isNull(m, at.Value):
		p.put(at.Value, "["+text+"]")
	case len(entries) == 0:
		p.insert(at.Value.Off+1, text)
	default:
		p.insert(entries[len(entries)-1].End, ","+text)
	}
	p.apply(m)
}

func (in *Injector) leave(s *proxy.Step, why string) {
	s.Log(slog.LevelWarn, "no server is injected into a frame", "why", why)
}

// accepts tells that the agent takes servers of a kind. One that has not said
// what it is yet is asked.
func accepts(a *proxy.Agent, kind string) bool {
	if kind == "stdio" || a == nil || a.Info() == nil {
		return true
	}
	return gjson.GetBytes(a.Info(), "agentCapabilities.mcpCapabilities."+kind).Bool()
}

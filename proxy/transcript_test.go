package proxy

import (
	"fmt"
	"log/slog"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script drives a core by hand and writes down what it does, a line an effect.
type script struct {
	t      *testing.T
	core   *Core
	out    []string
	timers map[timerKey]time.Duration
	frames []string // what the taps saw
	kept   map[string][]Record
	queued int // bytes that wait for every process
	logs   []string
	// received are the frames that came from the client, as a capture has them.
	received []string
}

func newScript(t *testing.T, opt Options) *script {
	s := &script{t: t, timers: map[timerKey]time.Duration{}, kept: map[string][]Record{}}
	opt.Strict, opt.Nonce = true, "n"
	opt.Taps = append(opt.Taps, s)
	s.core = newCore(s, opt)
	return s
}

func (s *script) add(format string, args ...any) {
	s.out = append(s.out, fmt.Sprintf(format, args...))
}

func (s *script) toClient(line []byte) { s.add("client< %s", strings.TrimSpace(string(line))) }
func (s *script) toAgent(gen int, line []byte) {
	s.add("agent%d< %s", gen, strings.TrimSpace(string(line)))
}
func (s *script) spawn(gen int)                   { s.add("spawn %d", gen) }
func (s *script) closeInput(gen int)              { s.add("close %d", gen) }
func (s *script) discard(gen int) int             { s.add("discard %d", gen); return 0 }
func (s *script) unsent(int) int                  { return s.queued }
func (s *script) terminate(gen int)               { s.add("terminate %d", gen) }
func (s *script) kill(gen int)                    { s.add("kill %d", gen) }
func (s *script) arm(k timerKey, d time.Duration) { s.timers[k] = d }
func (s *script) disarm(k timerKey)               { delete(s.timers, k) }
func (s *script) rest(k timerKey)                 { delete(s.timers, k) }
func (s *script) claim(id string)                 { s.add("claim %s", id) }
func (s *script) release(id string)               { s.add("release %s", id) }
func (s *script) recall()                         {}
func (s *script) forget(id string)                { s.add("forget %s", id) }
func (s *script) finished(code int)               { s.add("finished %d", code) }
func (s *script) log(_ slog.Level, text string, _ ...any) {
	s.logs = append(s.logs, text)
}
func (s *script) Event(*Event) {}

// remembers claims a session of which there is a record.
func (s *script) remembers(r Record) {
	s.kept[r.ID] = append(s.kept[r.ID], r)
	s.core.claimed(r.ID, &r, "")
}

// save writes down what is new in a record; that its session is in use is told
// after every turn.
func (s *script) save(r Record) {
	var last Record
	if n := len(s.kept[r.ID]); n > 0 {
		last = s.kept[r.ID][n-1]
	}
	s.kept[r.ID] = append(s.kept[r.ID], r)
	if r.Real != last.Real || jsonText(r.Config) != jsonText(last.Config) {
		s.add("save %s", jsonText(r))
	}
}

func (s *script) Frame(f *Frame) {
	if f.From == Client && !f.Again {
		s.received = append(s.received, strings.TrimSpace(string(f.Bytes)))
	}
	s.frames = append(s.frames, fmt.Sprintf("%d>%d %s %s", f.From, f.To, f.Why, strings.TrimSpace(string(f.Bytes))))
}

func (s *script) client(line string)         { s.core.client([]byte(line + "\n")) }
func (s *script) agent(gen int, line string) { s.core.agentLine(gen, []byte(line+"\n")) }

// expect compares what has happened since the last time.
func (s *script) expect(want ...string) {
	s.t.Helper()
	if d := cmp.Diff(want, s.out); d != "" {
		s.t.Fatalf("effects (-want +got):\n%s", d)
	}
	s.out = nil
}

// contains compares without regard to what else happened.
func (s *script) contains(want string) {
	s.t.Helper()
	for _, o := range s.out {
		if o == want {
			return
		}
	}
	s.t.Fatalf("%q is not among\n%s", want, strings.Join(s.out, "\n"))
}

func (s *script) fire(k timerKey) {
	s.t.Helper()
	if _, ok := s.timers[k]; !ok {
		s.t.Fatalf("%v is not armed; armed are %v", k, s.timers)
	}
	delete(s.timers, k)
	s.core.timer(k)
}

const (
	initRequest  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	initResult   = `{"jsonrpc":"2.0","id":0,"result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}},"agentInfo":{"name":"antigravity-acp"}}}`
	ownInit      = `agent%d< {"jsonrpc":"2.0","id":"acp-shim/n/%d","method":"initialize","params":{"protocolVersion":1}}`
	ownInitReply = `{"id":"acp-shim/n/%d","result":{"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"resume":{}}}}}`
)

func exclusive([]byte) Policy { return Policy{Exclusive: true, DropNoise: true} }

// begun is a script past initialize, with one process.
func begun(t *testing.T, opt Options) *script {
	if opt.Policy == nil {
		opt.Policy = exclusive
	}
	s := newScript(t, opt)
	s.core.start()
	s.core.started(1, 100)
	s.client(initRequest)
	s.agent(1, initResult)
	s.expect("spawn 1", "agent1< "+initRequest, "client< "+initResult)
	return s
}

// opened is a script with one session, a, in process 1.
func opened(t *testing.T, opt Options) *script {
	s := begun(t, opt)
	s.client(`{"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`)
	s.agent(1, `{"id":1,"result":{"sessionId":"a"}}`)
	s.core.claimed("a", nil, "")
	s.expect(`agent1< {"id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
		`client< {"id":1,"result":{"sessionId":"a"}}`, "claim a")
	return s
}

func prompt(id int, session string) string {
	return fmt.Sprintf(`{"id":%d,"method":"session/prompt","params":{"sessionId":"%s","prompt":[]}}`, id, session)
}

func (s *script) requests() string {
	var ids []string
	for _, r := range s.core.requests.all() {
		ids = append(ids, r.ID())
	}
	sort.Strings(ids)
	return strings.Join(ids, " ")
}

package status

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"acp-shim/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sheet is a sink that keeps what is written.
type sheet struct {
	mu    sync.Mutex
	wrote []Status
	ended bool
	told  chan struct{}
	fail  error
}

func newSheet() *sheet { return &sheet{told: make(chan struct{}, 100)} }

func (s *sheet) Write(v any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.wrote = append(s.wrote, v.(Status))
	s.told <- struct{}{}
	return nil
}

func (s *sheet) End() { s.ended = true }

// stage is a board and what it is told.
type stage struct {
	*Board
	t     *testing.T
	sheet *sheet
	known struct {
		sync.Mutex
		ignores bool
		tokens  string
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, sheet: newSheet()}
	s.Board = New(Options{
		Run: "r1", Version: "1", Profile: "auto", Path: func() string { return "/agent" },
		Ignores: func(string) bool { s.known.Lock(); defer s.known.Unlock(); return s.known.ignores },
		Tokens: func(string) Tokens {
			s.known.Lock()
			defer s.known.Unlock()
			return Tokens{Reported: s.known.tokens != "", Where: s.known.tokens}
		},
		Open: func() (Sink, error) { return s.sheet, nil },
	})
	t.Cleanup(s.Close)
	return s
}

func (s *stage) says(from, to proxy.Peer, line string) {
	m := &proxy.Message{}
	m.Parse([]byte(line + "\n"))
	f := &proxy.Frame{From: from, To: to, Bytes: m.Raw, Session: m.Session, Message: m}
	if from == proxy.Shim && to == proxy.Client {
		f.Message = nil // as the core has it
	}
	s.Frame(f)
}

func (s *stage) begins(session string) {
	s.says(proxy.Client, 1, `{"id":0,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"zed","version":"0.2"}}}`)
	s.Event(&proxy.Event{Kind: "spawn", Agent: 1, Data: []byte(`{"pid":77}`)})
	s.says(1, proxy.Client, `{"id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"antigravity-acp","version":"1.3.0"}}}`)
	s.says(proxy.Client, 1, `{"id":1,"method":"session/new","params":{"cwd":"/src","mcpServers":[]}}`)
	s.says(1, proxy.Client, `{"id":1,"result":{"sessionId":"`+session+`"}}`)
}

const prompt = `{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"my secret"}]}}`

func TestATurn(t *testing.T) {
	s := newStage(t)
	s.begins("s")
	s.says(proxy.Client, 1, prompt)
	now := s.Snapshot()
	if now.Turns.Running != 1 || len(now.Sessions) != 1 || !now.Sessions[0].Running || now.Sessions[0].Since == nil || now.Sessions[0].Cwd != "/src" {
		t.Errorf("while it runs: %+v", now)
	}
	if now.Client != (Peer{"zed", "0.2"}) || now.Agent.Version != "1.3.0" || now.Agent.Protocol != 1 || now.Processes[0].PID != 77 {
		t.Errorf("the ends: %+v", now)
	}
	s.says(1, proxy.Client, `{"id":2,"result":{"stopReason":"end_turn"}}`)
	now = s.Snapshot()
	if now.Turns != (Turns{Done: 1}) || now.Sessions[0].Running || now.Sessions[0].Turns != 1 || now.Cancel.State != Unknown {
		t.Errorf("after it: %+v", now)
	}
	if b, _ := json.Marshal(now); strings.Contains(string(b), "secret") {
		t.Errorf("it keeps what a prompt says: %s", b)
	}
}

// TestALongName is of a session whose name is kept in part.
func TestALongName(t *testing.T) {
	s := newStage(t)
	name := strings.Repeat("n", 3*textMax)
	s.begins(name)
	s.says(proxy.Client, 1, `{"id":2,"method":"session/prompt","params":{"sessionId":"`+name+`","prompt":[]}}`)
	s.says(proxy.Client, 1, `{"method":"session/cancel","params":{"sessionId":"`+name+`"}}`)
	s.says(1, proxy.Client, `{"id":2,"result":{"stopReason":"cancelled"}}`)
	if now := s.Snapshot(); now.Cancel.Honoured != 1 || len(now.Sessions) != 1 || now.Sessions[0].Turns != 1 {
		t.Errorf("%+v", now)
	}
}

func TestAHeldPromptIsNoTurn(t *testing.T) {
	s := newStage(t)
	s.begins("s")
	s.says(proxy.Client, proxy.Nobody, prompt)
	if now := s.Snapshot(); now.Turns.Running != 0 {
		t.Errorf("it runs already: %+v", now.Turns)
	}
	m := &proxy.Message{}
	m.Parse([]byte(prompt + "\n"))
	s.Frame(&proxy.Frame{From: proxy.Client, To: 1, Bytes: m.Raw, Session: m.Session, Message: m, Again: true})
	if now := s.Snapshot(); now.Turns.Running != 1 {
		t.Errorf("it does not run: %+v", now.Turns)
	}
}

func TestCancel(t *testing.T) {
	cancel := `{"method":"session/cancel","params":{"sessionId":"s"}}`
	for name, c := range map[string]struct {
		from    proxy.Peer
		answer  string
		ignores bool
		want    Cancel
	}{
		"honoured":         {1, `{"id":2,"result":{"stopReason":"cancelled"}}`, false, Cancel{Honoured, 1, 0}},
		"too late":         {proxy.Shim, `{"id":2,"result":{"stopReason":"cancelled"}}`, false, Cancel{Unknown, 0, 1}},
		"known to ignore":  {proxy.Shim, `{"id":2,"result":{"stopReason":"cancelled"}}`, true, Cancel{Ignored, 0, 1}},
		"ended by itself":  {1, `{"id":2,"result":{"stopReason":"end_turn"}}`, false, Cancel{Unknown, 0, 0}},
		"failed meanwhile": {1, `{"id":2,"error":{"code":-32000,"message":"x"}}`, false, Cancel{Unknown, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.known.ignores = c.ignores
			s.begins("s")
			s.says(proxy.Client, 1, prompt)
			s.says(proxy.Client, 1, cancel)
			s.says(c.from, proxy.Client, c.answer)
			if now := s.Snapshot(); now.Cancel != c.want || now.Turns.Running != 0 || now.Turns.Done != 1 {
				t.Errorf("got %+v %+v, want %+v", now.Cancel, now.Turns, c.want)
			}
		})
	}
}

func TestAnotherProcess(t *testing.T) {
	s := newStage(t)
	s.begins("s")
	s.Event(&proxy.Event{Kind: "condemn", Agent: 1, Text: "cancelled"})
	s.Event(&proxy.Event{Kind: "exit", Agent: 1, Text: "was killed by SIGKILL"})
	s.Event(&proxy.Event{Kind: "spawn", Agent: 2, Data: []byte(`{"pid":78}`)})
	s.Event(&proxy.Event{Kind: "restore", Agent: 2, Session: "s", Text: "begins"})
	s.says(proxy.Shim, 2, `{"id":"x","method":"session/load","params":{"sessionId":"s"}}`)
	s.Event(&proxy.Event{Kind: "restore", Agent: 2, Session: "s", Text: "opened by session/load"})
	s.says(proxy.Client, 2, prompt)
	s.Event(&proxy.Event{Kind: "exit", Agent: 2, Text: "exited with code 3"})
	now := s.Snapshot()
	if want := (Counts{Starts: 2, Kills: 1, Crashes: 1, Restores: 1, Reconnects: 1}); now.Counts != want {
		t.Errorf("got %+v, want %+v", now.Counts, want)
	}
	if now.Sessions[0].Reconnects != 1 || now.Sessions[0].Agent != 2 || len(now.Processes) != 0 {
		t.Errorf("%+v", now)
	}
}

func TestLoadAndClose(t *testing.T) {
	s := newStage(t)
	s.begins("s")
	s.says(proxy.Client, 1, `{"id":3,"method":"session/load","params":{"sessionId":"old","cwd":"/o"}}`)
	s.says(1, proxy.Client, `{"id":3,"result":{}}`)
	s.says(proxy.Client, 1, `{"id":4,"method":"session/load","params":{"sessionId":"bad","cwd":"/o"}}`)
	s.says(1, proxy.Client, `{"id":4,"error":{"code":1,"message":"no"}}`)
	s.says(proxy.Client, 1, `{"id":5,"method":"session/close","params":{"sessionId":"s"}}`)
	s.says(1, proxy.Client, `{"id":5,"result":{}}`)
	now := s.Snapshot()
	if now.Counts.Loads != 1 || len(now.Sessions) != 1 || now.Sessions[0].ID != "old" {
		t.Errorf("%+v", now)
	}
}

func TestTokens(t *testing.T) {
	s := newStage(t)
	if now := s.Snapshot(); now.Tokens.Reported {
		t.Error("nobody has reported any")
	}
	s.known.Lock()
	s.known.tokens = "usage_update"
	s.known.Unlock()
	if now := s.Snapshot(); now.Tokens != (Tokens{Reported: true, Where: "usage_update"}) {
		t.Errorf("%+v", now.Tokens)
	}
}

func TestBounds(t *testing.T) {
	s := newStage(t)
	s.begins("s")
	for range 3 * sessionsMax {
		s.mu.Lock()
		s.open(strings.Repeat("x", len(s.order)+s.dropped), "")
		s.mu.Unlock()
	}
	for range 50 {
		s.Event(&proxy.Event{Kind: "note", Text: strings.Repeat("ä", 1000)})
	}
	s.Event(&proxy.Event{Kind: "stderr", Text: "what an agent says there"})
	now := s.Snapshot()
	if len(now.Sessions) != sessionsMax || now.SessionsLeftOut == 0 || len(now.Events) != eventsMax {
		t.Errorf("%d sessions, %d left out, %d events", len(now.Sessions), now.SessionsLeftOut, len(now.Events))
	}
	for _, e := range now.Events {
		if len(e.Text) > textMax+4 || e.Kind == "stderr" {
			t.Errorf("an event: %+v", e)
		}
	}
}

// awaits waits for a write that is as wanted.
func (s *sheet) awaits(wanted func(Status) bool) {
	for {
		<-s.told
		s.mu.Lock()
		last := s.wrote[len(s.wrote)-1]
		s.mu.Unlock()
		if wanted(last) {
			return
		}
	}
}

// A change is written, and then nothing waits for anything until the next one.
func TestWrites(t *testing.T) {
	s := newStage(t)
	s.begins("s")
	s.sheet.awaits(func(now Status) bool { return len(now.Sessions) == 1 })
	s.says(proxy.Client, 1, prompt)
	s.sheet.awaits(func(now Status) bool { return now.Turns.Running == 1 })
	s.mu.Lock()
	dirty, waiting := s.dirty, len(s.wake)
	s.mu.Unlock()
	if dirty || waiting > 0 {
		t.Errorf("dirty %v, %d to wake it", dirty, waiting)
	}
	s.Close()
	s.sheet.mu.Lock()
	defer s.sheet.mu.Unlock()
	if n := len(s.sheet.wrote); n > 4 {
		t.Errorf("%d writes for two changes", n)
	}
	if !s.sheet.ended {
		t.Error("its file is not removed")
	}
}

func TestTheStreamWritesNothing(t *testing.T) {
	s := newStage(t)
	<-s.sheet.told
	for range 1000 {
		s.says(1, proxy.Client, chunk)
	}
	s.mu.Lock()
	dirty := s.dirty
	s.mu.Unlock()
	if dirty {
		t.Error("a chunk has something written")
	}
}

func TestNowhereToWrite(t *testing.T) {
	b := New(Options{Open: func() (Sink, error) { return nil, nil }, Warn: func(err error) { t.Error(err) }})
	<-b.done
	b.Close()
}

// What cannot be written is told once, and tried again with the next change.
func TestWritesAgain(t *testing.T) {
	full := &sheet{fail: errors.New("full")}
	whole := &sheet{told: make(chan struct{}, 100)}
	opened := make(chan string, 10)
	warned := make(chan error, 10)
	results := []func() (Sink, error){
		func() (Sink, error) { opened <- "read-only"; return nil, errors.New("read-only") },
		func() (Sink, error) { opened <- "full"; return full, nil },
		func() (Sink, error) { return whole, nil },
	}
	b := New(Options{Open: func() (Sink, error) {
		open := results[0]
		results = results[1:]
		return open()
	}, Warn: func(err error) { warned <- err }})
	for _, want := range []string{"read-only", "full"} {
		if got := <-opened; got != want {
			t.Fatal(got)
		}
		b.Event(&proxy.Event{Kind: "note", Text: "a change"})
	}
	whole.awaits(func(now Status) bool { return len(now.Events) == 2 })
	b.Close()
	if err := <-warned; err.Error() != "read-only" || len(warned) > 0 {
		t.Error(err, len(warned), "more were told")
	}
	if !full.ended || !whole.ended {
		t.Error("a file is not removed")
	}
}

const chunk = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Here it is"}}}}`

func TestAChunkDoesNotAllocate(t *testing.T) {
	s := newStage(t)
	s.begins("s")
	m := &proxy.Message{}
	m.Parse([]byte(chunk + "\n"))
	f := &proxy.Frame{From: 1, To: proxy.Client, Bytes: m.Raw, Session: m.Session, Message: m}
	if n := testing.AllocsPerRun(1000, func() { s.Frame(f) }); n > 0 {
		t.Errorf("%v allocations a chunk", n)
	}
}

func BenchmarkChunk(b *testing.B) {
	board := New(Options{Open: func() (Sink, error) { return nil, nil }})
	defer board.Close()
	m := &proxy.Message{}
	m.Parse([]byte(chunk + "\n"))
	f := &proxy.Frame{From: 1, To: proxy.Client, Bytes: m.Raw, Session: m.Session, Message: m}
	b.ReportAllocs()
	for b.Loop() {
		board.Frame(f)
	}
}

func TestRead(t *testing.T) {
	at := time.Now()
	for _, text := range []string{"", "{", `[1]`, `{"pid":"x"}`, "null", "{}"} {
		if s := Read("/f", true, at, []byte(text)); s.Status != nil {
			t.Errorf("%q: %+v", text, s.Status)
		}
	}
	s := newStage(t)
	s.begins("s")
	b, _ := json.Marshal(s.Snapshot())
	if got := Read("/f", false, at, b); got.Status == nil || got.Status.Client.Name != "zed" || got.Running {
		t.Errorf("%+v", got)
	}
}

// A file that cannot be written any more, because its directory was removed, is begun
// anew with the same change.
func TestBeginsAnew(t *testing.T) {
	first, second := newSheet(), newSheet()
	sheets := []*sheet{first, second}
	b := New(Options{Open: func() (Sink, error) {
		s := sheets[0]
		sheets = sheets[1:]
		return s, nil
	}, Warn: func(err error) { t.Error(err) }})
	<-first.told
	first.mu.Lock()
	first.fail = errors.New("the directory was removed")
	first.mu.Unlock()
	b.Event(&proxy.Event{Kind: "note", Text: "a change"})
	second.awaits(func(now Status) bool { return len(now.Events) == 1 })
	b.Close()
	if !first.ended || !second.ended {
		t.Error("a file is not removed")
	}
}

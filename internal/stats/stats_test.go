package stats

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"acp-shim/fixtures"
	"acp-shim/internal/trace"
	"acp-shim/record"
	"acp-shim/usage"
)

const ms = time.Millisecond

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{}}`

// line is a frame's line in a capture; at is in milliseconds.
func line(at int, from, to, frame, more string) string {
	name := func(s string) string {
		if s == "" {
			return "null"
		}
		return `"` + s + `"`
	}
	return fmt.Sprintf(`{"seq":%d,"t":%d,"from":%s,"to":%s,"frame":%s%s}`, at, at*1e6, name(from), name(to), frame, more)
}

func event(at int, kind, text string) string {
	return fmt.Sprintf(`{"seq":%d,"t":%d,"event":%q,"agent":"agent#1","text":%q}`, at, at*1e6, kind, text)
}

func update(at int, u string) string {
	return line(at, "agent#1", "client", `{"method":"session/update","params":{"sessionId":"s","update":`+u+`}}`, "")
}

func chunk(at int) string {
	return update(at, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"abcd"}}`)
}

func collect(t *testing.T, capture string) (*Collector, []Turn, *Summary, *Totals) {
	t.Helper()
	var turns []Turn
	c := &Collector{Turn: func(x Turn) { turns = append(turns, x) }}
	for r, err := range trace.Read(record.Read(strings.NewReader(capture))) {
		var damaged *record.LineError
		if errors.As(err, &damaged) {
			c.Damaged()
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Add(r)
	}
	all, totals := c.End()
	return c, turns, all, totals
}

// turnCapture has a session that is loaded, with its history, a turn with all that
// a turn may have, one that fails, and one that the end cuts off.
var turnCapture = strings.Join([]string{header,
	line(1, "client", "agent#1", `{"id":1,"method":"session/load","params":{"sessionId":"s"}}`, ""),
	chunk(2), chunk(3),
	update(4, `{"sessionUpdate":"tool_call","toolCallId":"old","status":"completed"}`),
	line(5, "agent#1", "client", `{"id":1,"result":{}}`, ""),
	line(10, "client", "", `{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`, `,"why":"held"`),
	line(12, "client", "agent#1", `{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`, `,"again":true`),
	chunk(20), chunk(22), chunk(24),
	update(30, `{"sessionUpdate":"tool_call","toolCallId":"a","status":"pending"}`),
	line(32, "agent#1", "client", `{"id":1,"method":"session/request_permission","params":{"sessionId":"s"}}`, ""),
	line(42, "client", "agent#1", `{"id":1,"result":{}}`, ""),
	update(45, `{"sessionUpdate":"tool_call","toolCallId":"b","status":"in_progress"}`),
	update(50, `{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}`),
	update(55, `{"sessionUpdate":"tool_call_update","toolCallId":"b","status":"failed"}`),
	update(56, `{"sessionUpdate":"usage_update","used":500,"size":1000}`),
	chunk(70),
	line(80, "agent#1", "client", `{"id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":7,"outputTokens":3}}}`, ""),
	line(100, "client", "agent#1", `{"id":3,"method":"session/prompt","params":{"sessionId":"s"}}`, ""),
	line(130, "agent#1", "client", `{"id":3,"error":{"code":-32603,"message":"broken"}}`, ""),
	line(200, "client", "agent#1", `{"id":4,"method":"session/prompt","params":{"sessionId":"s"}}`, ""),
	chunk(205),
	line(260, "client", "agent#1", `{"method":"session/cancel","params":{"sessionId":"s"}}`, ""),
}, "\n") + "\n"

func TestTurns(t *testing.T) {
	_, turns, all, totals := collect(t, turnCapture)
	want := []Turn{
		{Run: 1, Session: "s", Seq: 10, Start: 10 * ms, Took: 70 * ms, Waited: 2 * ms, First: 10 * ms, Chunks: 4, Bytes: 16,
			Rate: 60, GapP50: 2 * ms, GapP99: 46 * ms, GapMax: 46 * ms, // three gaps in 50 ms
			// From 30 to 55, without the 10 in which the client was asked.
			ToolCalls: 2, Tools: 15 * ms, Asks: 1, Asked: 10 * ms, Stop: "end_turn",
			Usage: &usage.Totals{Tokens: usage.Tokens{Input: 7, Output: 3, Total: 10}, Used: 500, Size: 1000}},
		{Run: 1, Session: "s", Seq: 100, Start: 100 * ms, Took: 30 * ms, Failure: "broken"},
		{Run: 1, Session: "s", Seq: 200, Start: 200 * ms, Took: 60 * ms, First: 5 * ms, Chunks: 1, Bytes: 4, CutOff: true},
	}
	for i := range want { // by the capture's own clock
		want[i].At = time.Date(2026, 11, 30, 11, 20, 0, 0, time.UTC).Add(want[i].Start + want[i].Took)
	}
	if d := cmp.Diff(want, turns); d != "" {
		t.Errorf("the turns are not as they were (-want +got):\n%s", d)
	}
	if all.Turns != 3 || all.CutOff != 1 || all.Stops["end_turn"] != 1 || all.Stops["error"] != 1 || all.Took.N() != 2 || all.Took.Max() != 70*ms ||
		all.First.N() != 2 || all.Chunks != 5 || all.Bytes != 20 || all.Gaps.N() != 3 {
		t.Errorf("together they are %+v", all)
	}
	if totals.Replayed != 3 {
		t.Errorf("%d updates were replayed", totals.Replayed)
	}
}

func TestMethods(t *testing.T) {
	c, _, _, _ := collect(t, turnCapture)
	var got []string
	for _, m := range c.Methods() {
		got = append(got, fmt.Sprintf("%s %s%s: %d, %d errors, %d open, max %v", m.From, m.Method, m.Update, m.Count, m.Errors, m.Open(), m.Took.Max()))
	}
	want := []string{
		"client session/prompt: 3, 1 errors, 1 open, max 70ms", // held and sent is one
		"client session/load: 1, 0 errors, 0 open, max 4ms",
		"agent session/request_permission: 1, 0 errors, 0 open, max 10ms",
		"agent session/updateagent_message_chunk: 7, 0 errors, 0 open, max 0s",
		"agent session/updatetool_call: 3, 0 errors, 0 open, max 0s",
		"agent session/updatetool_call_update: 2, 0 errors, 0 open, max 0s",
		"client session/cancel: 1, 0 errors, 0 open, max 0s",
		"agent session/updateusage_update: 1, 0 errors, 0 open, max 0s",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestManyNames: names are the peers' to choose, and take no more than their room.
func TestManyNames(t *testing.T) {
	lines := []string{header}
	for i := range 2 * maxMethods {
		lines = append(lines, line(2*i+1, "client", "", fmt.Sprintf(`{"method":"m%d"}`, i), fmt.Sprintf(`,"why":"w%d"`, i)))
	}
	c, _, _, totals := collect(t, strings.Join(lines, "\n")+"\n")
	if list := c.Methods(); len(list) != maxMethods+1 || list[0].Method != otherMethods || list[0].Count != maxMethods {
		t.Errorf("%d methods, the first is %+v", len(list), list[0])
	}
	if len(totals.Dropped) != maxWords+1 || totals.Lost() != 2*maxMethods {
		t.Errorf("%d reasons for %d frames", len(totals.Dropped), totals.Lost())
	}
}

func TestTotals(t *testing.T) {
	_, _, _, totals := collect(t, strings.Join([]string{header,
		event(1, "spawn", ""),
		line(2, "client", "", `{"id":1,"method":"initialize"}`, `,"why":"held"`),
		line(3, "client", "agent#1", `{"id":1,"method":"initialize"}`, `,"again":true`),
		line(4, "agent#1", "client", `{"id":1,"result":{}}`, ""),
		line(5, "client", "agent#1", `{"method":"x"}`, `,"edits":[{"at":11,"old":"y","new":"x"}]`),
		line(6, "client", "", `{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`, `,"why":"held"`), // and never sent
		line(7, "shim", "agent#1", `{"id":"o","method":"session/load"}`, ""),
		line(8, "agent#1", "", `{"id":"o","result":{}}`, ""), // the shim has it
		line(9, "agent#1", "", `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan"}}}`, `,"why":"condemned"`),
		line(10, "shim", "client", `{"id":2,"error":{"code":1,"message":"m"}}`, `,"why":"the agent is gone"`),
		`{"seq":11,"t":11000000,"from":"agent#1","to":null,"text":"noise","why":"noise"}`,
		line(12, "agent#1", "client", `{"id":77,"result":{}}`, ""),
		event(13, "cancel", "begins"), event(14, "condemn", "hung"), event(15, "exit", "killed"), event(16, "stall", ""),
		event(17, "restore", "begins"), event(18, "restore", "opened by session/load"), event(19, "restore", "opened by session/resume"),
		`{"seq":25,"t":25000000,"event":"gap","data":{"frames":4,"events":1,"bytes":99,"first":20,"last":24,"why":"full"}}`,
		`broken`,
		`{"seq":26,"t":30000000,"event":"end","data":{}}`,
		header,
		event(1, "spawn", ""), event(20, "exit", "killed"),
	}, "\n")+"\n")
	want := &Totals{Runs: 2, Ended: 1, Time: 50 * ms, Frames: 11, Events: 10,
		Edges: []Edge{
			{"client", "agent", 2, 46}, {"client", "nobody", 2, 93}, {"agent", "client", 2, 43}, {"agent", "nobody", 2, 95},
			{"shim", "agent", 1, 35}, {"agent", "shim", 1, 23}, {"shim", "client", 1, 42}},
		Changed: 1, Made: map[string]int64{"session/load": 1, "the agent is gone": 1},
		Dropped: map[string]int64{"held": 1, "condemned": 1, "noise": 1}, Held: 1,
		Processes: 2, Exits: map[string]int64{"killed": 2}, Condemned: 1, Cancels: map[string]int64{"begins": 1},
		Restores: map[string]int64{"begins": 1, "opened": 2}, Stalls: 1,
		Gaps: 1, LostFrames: 4, LostEvents: 1, LostBytes: 99, Damaged: 1, NoAnswer: 1, NotMessages: 1}
	if d := cmp.Diff(want, totals, cmp.Transformer("sorted", func(list []Edge) map[string]Edge {
		m := map[string]Edge{}
		for _, e := range list {
			m[e.From+e.To] = e
		}
		return m
	})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestParts: the parts of a run are one run, and a turn goes on from one to the next.
func TestParts(t *testing.T) {
	part := func(n int) string {
		return strings.Replace(header, `"pid":1`, fmt.Sprintf(`"pid":1,"run":"r","part":%d`, n), 1)
	}
	_, turns, _, totals := collect(t, strings.Join([]string{part(1),
		line(10, "client", "agent#1", `{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`, ""), chunk(20),
		part(2), chunk(30), line(40, "agent#1", "client", `{"id":2,"result":{"stopReason":"end_turn"}}`, ""),
	}, "\n")+"\n")
	if len(turns) != 1 || turns[0].Chunks != 2 || turns[0].Took != 30*ms || turns[0].CutOff {
		t.Errorf("the turns are %+v", turns)
	}
	if totals.Runs != 1 || totals.Parts != 1 || totals.Time != 40*ms {
		t.Errorf("the totals are %+v", totals)
	}
}

// TestDemo: the figures of the demo's captures are those that the end of each run
// gives itself.
func TestDemo(t *testing.T) {
	for _, build := range []string{"rc01", "1.1.1", "1.2.1", "1.3.0"} {
		b, err := fixtures.Captures.ReadFile("captures/demo-" + build + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		var frames, events int64
		for e, err := range record.Read(strings.NewReader(string(b))) {
			if err == nil && e.Event == "end" {
				if _, err := fmt.Sscanf(string(e.Data), `{"frames":%d,"events":%d,`, &frames, &events); err != nil {
					t.Fatal(err)
				}
			}
		}
		_, turns, _, totals := collect(t, string(b))
		if frames == 0 || totals.Frames != frames || totals.Events != events {
			t.Errorf("%s: %d frames and %d events, the end says %d and %d", build, totals.Frames, totals.Events, frames, events)
		}
		if len(turns) != 4 || totals.Changed == 0 || totals.NoAnswer != 0 {
			t.Errorf("%s: %d turns, %+v", build, len(turns), totals)
		}
	}
}

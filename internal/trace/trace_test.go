package trace

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"acp-shim/record"
)

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{}}`

// line is a frame's line in a capture, by what is different in it.
func line(seq int, from, to, frame, more string) string {
	name := func(s string) string {
		if s == "" {
			return "null"
		}
		return `"` + s + `"`
	}
	return fmt.Sprintf(`{"seq":%d,"t":%d,"from":%s,"to":%s,"frame":%s%s}`, seq, seq*1000, name(from), name(to), frame, more)
}

func read(t *testing.T, lines ...string) []*Record {
	t.Helper()
	var list []*Record
	for r, err := range Read(record.Read(strings.NewReader(strings.Join(append([]string{header}, lines...), "\n") + "\n"))) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != Header {
			list = append(list, r)
		}
	}
	return list
}

func answers(t *testing.T, r *Record, seq uint64, method string) {
	t.Helper()
	if r.Kind != Response || r.Request == nil || r.Request.Seq != seq || r.Method != method || r.Took != time.Duration(r.Seq-seq)*1000 {
		t.Errorf("line %d is %+v, which answers %+v", r.Seq, r, r.Request)
	}
}

// TestAnswers has ids that are the same on both sides, an agent's request that
// gets another id on its way, one that the shim answers, and late answers.
func TestAnswers(t *testing.T) {
	ask := `{"id":%s,"method":"session/request_permission","params":{"sessionId":"s"}}`
	list := read(t,
		line(1, "client", "", `{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}`, `,"why":"held"`),
		line(2, "client", "agent#1", `{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}`, `,"again":true`),
		line(3, "agent#1", "client", fmt.Sprintf(ask, "1"), ""),
		line(4, "agent#2", "client", fmt.Sprintf(ask, "1073741824"), `,"edits":[{"at":6,"old":"1","new":"1073741824"}]`),
		line(5, "client", "agent#2", `{"id":1,"result":{}}`, `,"edits":[{"at":6,"old":"1073741824","new":"1"}]`),
		line(6, "shim", "agent#1", `{"id":1,"result":{"outcome":"cancelled"}}`, ""),
		line(7, "client", "", `{"id":1,"result":{}}`, `,"why":"late"`),
		line(8, "agent#1", "", `{"id":1,"result":{"stopReason":"end_turn"}}`, `,"why":"answered already"`),
		line(9, "shim", "client", `{"id":1,"result":{"stopReason":"cancelled"}}`, ""),
		line(10, "client", "agent#1", `{"id":1,"error":{"code":-32000,"message":"no"}}`, ""),
	)
	answers(t, list[4], 4, "session/request_permission")
	answers(t, list[5], 3, "session/request_permission")
	if list[6].Request != nil {
		t.Errorf("the late answer answers %+v", list[6].Request)
	}
	answers(t, list[7], 1, "session/prompt")
	answers(t, list[8], 1, "session/prompt")
	if r := list[9]; r.Request != nil || !r.Failed || r.Code != -32000 || r.Message != "no" {
		t.Errorf("an answer to nothing is %+v", r)
	}
	if list[3].ID != "1" || list[8].Prompt == nil || list[8].Session != "s" {
		t.Errorf("%+v, %+v", list[3], list[8])
	}
}

func TestTurn(t *testing.T) {
	update := func(seq int, text string) string {
		return line(seq, "agent#1", "client", `{"method":"session/update","params":{"sessionId":"s","update":`+text+`}}`, "")
	}
	chunk := `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"abc"}}`
	list := read(t,
		line(1, "client", "agent#1", `{"id":1,"method":"session/load","params":{"sessionId":"s"}}`, ""),
		update(2, chunk),
		line(3, "agent#1", "client", `{"id":1,"result":{}}`, ""),
		line(4, "client", "agent#1", `{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`, ""),
		update(5, chunk),
		update(6, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","status":"pending"}`),
		line(7, "agent#1", "client", `{"id":1,"method":"session/request_permission","params":{"sessionId":"s"}}`, ""),
		line(8, "client", "", `{"id":3,"method":"session/prompt","params":{"sessionId":"s"}}`, `,"why":"held"`),
		line(9, "client", "agent#1", `{"id":1,"result":{}}`, ""),
		update(10, `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`),
		update(12, chunk),
		line(13, "agent#1", "client", `{"id":2,"result":{"stopReason":"end_turn"}}`, ""),
		line(14, "client", "agent#1", `{"id":3,"method":"session/prompt","params":{"sessionId":"s"}}`, `,"again":true`),
		update(15, chunk),
	)
	var ts Turns
	var first *Turn
	for _, r := range list {
		if turn, over := ts.Add(r); over {
			first = turn
		}
	}
	if !list[1].Replayed || list[4].Replayed {
		t.Error("what is replayed is not what is said before the load is answered")
	}
	if first == nil {
		t.Fatal("no turn is over")
	}
	if first.Prompt.Seq != 4 || first.Sent != 4000 || first.First != 5000 || first.End != 13000 || first.Took() != 9000 || first.Stop != "end_turn" ||
		first.Chunks != 2 || first.Bytes != 6 || first.LongestGap != 7000 || first.Streamed != 7000 || len(first.Gaps) != 1 {
		t.Errorf("the turn is %+v", first)
	}
	if len(first.Tools) != 1 || first.Tools[0] != (Tool{"t", "Run", "", "completed", 6000, 10000}) {
		t.Errorf("its tools are %+v", first.Tools)
	}
	if len(first.Waits) != 1 || first.Waits[0].End-first.Waits[0].Start != 2000 {
		t.Errorf("its waits are %+v", first.Waits)
	}
	open := ts.Open()
	if len(open) != 1 || open[0].Prompt.Seq != 8 || open[0].Sent != 14000 || open[0].Chunks != 1 {
		t.Errorf("still open are %+v", open)
	}
}

// TestExit: what a dead process has asked is nobody's any more.
func TestExit(t *testing.T) {
	list := read(t,
		line(1, "agent#1", "client", `{"id":1,"method":"fs/read_text_file","params":{"sessionId":"s"}}`, ""),
		line(2, "shim", "agent#1", `{"id":"acp-shim/n/1","method":"session/load","params":{"sessionId":"s"}}`, ""),
		`{"seq":3,"t":3,"event":"exit","agent":"agent#1"}`,
		line(4, "client", "", `{"id":1,"result":{}}`, `,"why":"late"`),
		line(5, "agent#2", "client", `{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan"}}}`, ""),
	)
	if list[3].Request != nil || list[4].Replayed {
		t.Errorf("%+v, %+v", list[3], list[4])
	}
}

// TestWithoutID: a request whose id was taken away is answered all the same.
func TestWithoutID(t *testing.T) {
	list := read(t,
		line(1, "client", "agent#1", `{"method":"session/cancel","params":{"sessionId":"s"}}`, `,"edits":[{"at":1,"old":"\"id\":6,","new":""}]`),
		line(2, "shim", "client", `{"id":6,"result":{}}`, ""),
	)
	if list[0].Kind != Notification || list[0].ID != "6" {
		t.Errorf("the request is %+v", list[0])
	}
	answers(t, list[1], 1, "session/cancel")
}

// TestContinued: a header of the next part of a run begins nothing, and one of
// any other run does.
func TestContinued(t *testing.T) {
	part := func(run string, n int) string {
		return strings.Replace(header, `"pid":1`, fmt.Sprintf(`"pid":1,"run":%q,"part":%d`, run, n), 1)
	}
	list := read(t,
		part("a", 1),
		line(1, "client", "agent#1", `{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}`, ""),
		part("a", 2),
		line(2, "agent#1", "client", `{"id":1,"result":{"stopReason":"end_turn"}}`, ""),
		line(3, "client", "agent#1", `{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`, ""),
		part("a", 4),
		line(9, "agent#1", "client", `{"id":2,"result":{"stopReason":"end_turn"}}`, ""),
	)
	answers(t, list[1], 1, "session/prompt")
	if list[0].Run != list[1].Run || list[1].Run != list[2].Run || list[3].Run == list[2].Run || list[3].Request != nil {
		t.Errorf("runs %d, %d, %d, %d; the last one answers %+v", list[0].Run, list[1].Run, list[2].Run, list[3].Run, list[3].Request)
	}
}

// TestDamage cuts a capture at every byte, and turns over bits of it: whatever is
// in a file, following it does not panic.
func TestDamage(t *testing.T) {
	b, err := os.ReadFile("../../fixtures/captures/demo-rc01.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	follow := func(b []byte) (records int) {
		var ts Turns
		for r, err := range Read(record.Read(bytes.NewReader(b))) {
			if err == nil {
				ts.Add(r)
				records++
			}
		}
		ts.Open()
		return records
	}
	whole := follow(b)
	small := b[:6000]
	for n := range small {
		follow(small[:n])
	}
	rng := rand.New(rand.NewPCG(2, 2))
	for range 200 {
		d := bytes.Clone(b)
		for range 1 + rng.IntN(20) {
			d[rng.IntN(len(d))] ^= 1 << rng.IntN(8)
		}
		if got := follow(d); got < whole/2 {
			t.Errorf("%d records of %d are left", got, whole)
		}
	}
}

// TestLostAnswer has the turns behind a lost answer be turns of their own.
func TestLostAnswer(t *testing.T) {
	frame := func(seq int, from, to, body string) string {
		return fmt.Sprintf(`{"seq":%d,"t":%d,"from":%q,"to":%q,"frame":%s}`, seq, seq*1000, from, to, body)
	}
	ask := func(seq, id int) string {
		return frame(seq, "client", "agent#1", fmt.Sprintf(`{"id":%d,"method":"session/prompt","params":{"sessionId":"s"}}`, id))
	}
	answer := func(seq, id int) string {
		return frame(seq, "agent#1", "client", fmt.Sprintf(`{"id":%d,"result":{"stopReason":"end_turn"}}`, id))
	}
	turns := func(lines ...string) (ended []uint64) {
		ts := &Turns{}
		for _, r := range read(t, lines...) {
			if turn, over := ts.Add(r); over {
				ended = append(ended, turn.Prompt.Seq)
			}
		}
		return ended
	}
	// The answer of 1 was number 2.
	if got := turns(ask(1, 1), ask(3, 2), answer(4, 2), ask(5, 3), answer(6, 3)); fmt.Sprint(got) != "[3 5]" {
		t.Errorf("turns that ended: %v", got)
	}
	// Nothing is lost: the second prompt waits for the first.
	if got := turns(ask(1, 1), ask(2, 2), answer(3, 1), answer(4, 2)); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("turns that ended: %v", got)
	}
}

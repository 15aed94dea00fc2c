package show

import (
	"fmt"
	"strings"
	"testing"

	"acp-shim/internal/trace"
	"acp-shim/record"
)

const header = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0","pid":1,"redacted":true,"agent":{}}`

// line is a frame's line in a capture; its time is so many milliseconds.
func line(seq int, from, to, frame, more string) string {
	name := func(s string) string {
		if s == "" {
			return "null"
		}
		return `"` + s + `"`
	}
	return fmt.Sprintf(`{"seq":%d,"t":%d,"from":%s,"to":%s,"frame":%s%s}`, seq, seq*1e6, name(from), name(to), frame, more)
}

func update(seq int, session, u string) string {
	return line(seq, "agent#1", "client", `{"method":"session/update","params":{"sessionId":"`+session+`","update":`+u+`}}`, "")
}

func chunk(seq int, session, kind, text string) string {
	return update(seq, session, `{"sessionUpdate":"`+kind+`","content":{"type":"text","text":"`+text+`"}}`)
}

// read gives the records of a capture's lines, without its header.
func read(t *testing.T, lines ...string) []*trace.Record {
	t.Helper()
	var list []*trace.Record
	for r, err := range trace.Read(record.Read(strings.NewReader(header + "\n" + strings.Join(lines, "\n") + "\n"))) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != trace.Header {
			list = append(list, r)
		}
	}
	return list
}

// rows folds records, and says of each row its seq, how many records it has, and
// its gist.
func rows(list []*trace.Record) []string {
	var out []string
	f := Folder{Emit: func(r *Row) { out = append(out, fmt.Sprintf("%d x%d %s", r.Seq, r.Count, Clean(r.Gist()))) }}
	for _, r := range list {
		f.Add(r)
	}
	f.Flush()
	return out
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

func TestFold(t *testing.T) {
	const message, thought = "agent_message_chunk", "agent_thought_chunk"
	list := read(t,
		chunk(1, "a", thought, "hm"),
		chunk(2, "a", thought, "m"),
		chunk(3, "a", message, "one"), // another kind ends the thought
		chunk(4, "b", message, "B1"),  // another session does not end a's message
		`{"seq":5,"t":5000000,"event":"stderr","agent":"agent#1","text":"I1130 12:48:26.057171 17048 agent.go:49] hello\n"}`,
		chunk(6, "a", message, " two"),
		chunk(7, "b", message, "B2"),
		`{"seq":8,"t":8000000,"event":"stderr","agent":"agent#1","text":"again\n"}`,
		line(9, "client", "agent#1", `{"id":1,"method":"session/prompt","params":{"sessionId":"a","prompt":[{"type":"text","text":"next"}]}}`, ""),
		chunk(10, "a", message, "three"), // a frame between ends it
		line(11, "client", "agent#1", `{"id":2,"method":"session/load","params":{"sessionId":"c"}}`, ""),
		chunk(12, "c", "user_message_chunk", "old question"),
		chunk(13, "c", message, "old answer"),
		update(14, "c", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run"}`),
		line(15, "agent#1", "client", `{"id":2,"result":{}}`, ""),
	)
	same(t, rows(list),
		"1 x2 3 B, in 1.0ms, 1000/s: hmm",
		"3 x2 7 B, in 3.0ms, 333/s: one two",
		"4 x2 4 B, in 3.0ms, 333/s: B1B2",
		"5 x2 27 B: I agent.go:49] hello↵again↵",
		"9 x1 next",
		"10 x1 three",
		"11 x1 ",
		"12 x3 history of 3 updates, 25 B: old question↵old answer↵Run",
		"15 x1 ")
}

func TestTitles(t *testing.T) {
	list := read(t,
		update(1, "s", `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run ls","kind":"execute","status":"pending"}`),
		update(2, "s", `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`),
		update(3, "other", `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`),
	)
	var titles Titles
	var got []string
	for _, r := range list {
		titles.See(r)
		got = append(got, titles.Gist(&Row{Record: r, Count: 1}))
	}
	same(t, got, "[execute] pending Run ls", "completed Run ls", "completed (t)")
}

func TestNames(t *testing.T) {
	var n Names
	for _, x := range [][2]string{
		{"", ""}, {"s1", "s1"},
		{"019a0c11-aaaa-bbbb-1111", "019a0c11"},
		{"019a0c11-aaaa-bbbb-2222", "…bb-2222"}, // both begin with the same time
		{"019a0c11-aaaa-bbbb-1111", "019a0c11"},
		{"\x1b[31mred", `\x1b[31m`},
	} {
		if got := n.Short(x[0]); got != x[1] {
			t.Errorf("%q is called %q, want %q", x[0], got, x[1])
		}
	}
}

func TestLine(t *testing.T) {
	list := read(t,
		line(1, "shim", "agent#1", `{"id":"own","method":"initialize"}`, ""),
		line(2, "agent#1", "", `{"id":"own","result":{}}`, `,"why":"answers the shim"`),
		line(3, "client", "agent#1", `{"id":1,"method":"authenticate","params":{"methodId":"x"}}`, `,"edits":[{"at":42,"old":"method","new":"methodId"}]`),
		line(4, "agent#1", "", `{"id":7,"result":{}}`, `,"why":"answers nothing"`),
	)
	if l := NewLine(list[1], false); l.To != "shim" || l.Lost || l.Request != 1 || l.Took != 1e6 || l.Frame != nil {
		t.Errorf("the shim's answer is %+v", l)
	}
	if l := NewLine(list[2], true); len(l.Changed) != 1 || l.Changed[0] != (Change{42, "method", "methodId"}) || len(l.Frame) == 0 {
		t.Errorf("the changed frame is %+v", l)
	}
	if got := Changes(list[2]); got != "method → methodId" {
		t.Errorf("the change is told as %q", got)
	}
	if l := NewLine(list[3], false); !l.Lost || l.Why != "answers nothing" {
		t.Errorf("what nobody asked for is %+v", l)
	}
}

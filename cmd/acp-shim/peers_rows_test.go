//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// deepest is the most memory that the shim takes, in MiB, as far as it is peers who
// have to read: 256 MiB of frames and one more, and as much again that is not
// collected yet.
const deepest = 700

// peerRows are the peers, those first that take longest.
func peerRows() []peerRow {
	deafFor, loudLines := 10*time.Second, 100_000
	if os.Getenv(peersLong) != "" {
		deafFor, loudLines = time.Minute, 500_000
	}
	rows := []peerRow{
		{name: "agent reads nothing", gaps: true, agent: "deaf", peak: deepest, takes: time.Minute, waits: true, only: agyRecorded, run: func(p *pair) { deafAgent(p, 1000) }},
		{name: "agent reads nothing of 20 MiB each", agent: "deaf", peak: deepest, takes: time.Minute, waits: true, only: relay, run: func(p *pair) { deafAgent(p, 20<<20) }},
		{name: "client asks on and reads nothing", agent: "dies", flags: []string{"--max-frame=1"}, peak: deepest, only: relay, waits: true, vast: true, run: greedy},
		{name: "agent asks on and reads nothing", agent: "greedy", flags: []string{"--max-frame=2"}, peak: deepest, only: relay, vast: true, run: greedyAgent},
		{name: "client does not read", gaps: true, agent: "puppet", peak: 64, takes: deafFor + 30*time.Second, waits: true, run: func(p *pair) { deafClient(p, deafFor) }},
		{name: "client does not read while an answer is owed", gaps: true, agent: "puppet", peak: 400, waits: true, only: agyRecorded, run: deafWhileOwed},
		{name: "both write 20 MiB", agent: "puppet", peak: 200, run: duplex},
		{name: "lines of 1 to 8 MiB between small ones", agent: "puppet", peak: 200, vast: true, run: func(p *pair) { mixture(p, false) }},
		{name: "lines of 1 to 8 MiB to a client that reads late", agent: "puppet", peak: 200, only: agyRecorded, run: func(p *pair) { mixture(p, true) }},
		{name: "client ends its input and reads on", agent: "puppet", peak: 64, run: clientSaysItsLast},
		{name: "client ends its output and writes on", agent: "puppet", peak: 64, run: clientReadsNoMore},
		{name: "agent ends its output and lives", agent: "mute", peak: 64, waits: true, run: muteAgent},
		{name: "agent ends its input and writes on", agent: "puppet", peak: 64, waits: true, run: deafenedAgent},
		{name: "a thousand requests each way", agent: "puppet", peak: 64, run: thousand},
		{name: "ids in use twice", agent: "puppet", peak: 64, run: twice},
		{name: "answers twice", agent: "puppet", peak: 64, run: answersTwice},
		{name: "answers to nothing", agent: "puppet", peak: 64, run: answersToNothing},
		{name: "ids of every type", agent: "puppet", peak: 100, run: strangeIDs},
		{name: "frames of 300 MiB", agent: "puppet", peak: 900, vast: true, only: relay, takes: time.Minute, run: func(p *pair) { endless(p, 300<<20, 256) }},
		{name: "frames beyond the limit", agent: "puppet", flags: []string{"--max-frame=2"}, peak: 64, run: func(p *pair) { endless(p, 3<<20, 2) }},
		{name: "a million blank lines", gaps: true, agent: "puppet", peak: 256, run: func(p *pair) { noise(p, " \t\r\n") }},
		{name: "a million lines of noise", gaps: true, agent: "puppet", peak: 256, run: func(p *pair) { noise(p, "Opening in existing browser session.\n") }},
		{name: fmt.Sprint(loudLines/1000, " MB on stderr"), gaps: true, agent: "puppet", peak: 64, run: func(p *pair) { loud(p, loudLines) }},
		{name: "agent dies at once, again and again", agent: "dies", peak: 64, run: stillborn},
		{name: "agent answers a byte at a time", agent: "puppet", peak: 64, waits: true, run: dripping},
		{name: "agent does not end, nor does its tool", agent: "clings", peak: 64, waits: true, run: clinging},
	}
	for i, half := range torn {
		rows = append(rows,
			peerRow{name: "agent dies in a line", agent: "puppet", peak: 64, run: func(p *pair) { tornAgent(p, half) }},
			peerRow{name: "client dies in a line", agent: "puppet", peak: 64, only: []string{relay, agyRecorded}[i%2], run: func(p *pair) { tornClient(p, half) }})
	}
	if unhurried > 1 {
		// What takes hundreds of MiB takes minutes then, and shows no race of its own.
		rows = slices.DeleteFunc(rows, func(r peerRow) bool { return r.vast })
	}
	return rows
}

// few is fewer where the race detector watches.
func few(n int) int { return n / unhurried }

// deafAgent: the client floods an agent that takes nothing.
func deafAgent(p *pair, size int) {
	total := 400 << 20
	if unhurried > 1 {
		total /= 4 // more than the 64 MiB that may wait for half a minute
	}
	pad := strings.Repeat("x", size)
	p.ask("0", "_first", `{}`)
	for i := 0; i < total/size; i++ {
		if i%100 == 0 {
			p.ask(fmt.Sprint(i+1), "_more", `{"x":"`+pad+`"}`)
		} else {
			p.tell("_more", `{"x":"`+pad+`"}`)
		}
	}
	p.answered()
	if !strings.Contains(p.last["0"], `"error"`) {
		p.t.Errorf("the agent has read nothing, and the answer is %s", p.last["0"])
	}
}

// greedy: a client that takes no answers is not heard any more before they are too
// many, and has them all when it does.
func greedy(p *pair) {
	p.call("0", "_x", `{}`)
	p.reading.Lock()
	// The answer repeats the id, and the more there is of that, the fewer will do.
	const most = 150_000
	n, id := 0, func(n int) string { return fmt.Sprintf(`"%04000d"`, n) }
	for ; n < most; n++ {
		if n%1000 == 0 {
			_ = p.in.SetWriteDeadline(time.Now().Add(3 * time.Second))
		}
		// Before it is sent: a read that has begun may bring the answer at once.
		p.expect(id(n))
		if !p.write(`{"jsonrpc":"2.0","id":` + id(n) + `,"method":"_x"}` + "\n") {
			p.note(func() { p.due[id(n)], p.missing = p.due[id(n)]-1, p.missing-1 })
			break
		}
	}
	p.reading.Unlock()
	if n == most {
		p.t.Errorf("the shim goes on to read")
	}
	// The last one may have gone in part.
	_ = p.in.SetWriteDeadline(time.Time{})
	p.write("\n")
	p.note(func() { p.doubles = true })
	p.answered()
}

// greedyAgent: nor is an agent that takes no answers.
func greedyAgent(p *pair) {
	pad := strings.Repeat("x", 1<<20)
	p.note(func() {
		p.mute = true
		p.other = func(f gjson.Result) {
			if f.Get("method").Str == "_asked" {
				id := f.Get("id").Raw
				p.write(`{"jsonrpc":"2.0","id":` + id + `,"result":{"x":"` + pad + `"}}` + "\n")
			}
		}
	})
	p.call("1", "_x", `{}`)
	if !strings.Contains(p.last["1"], "took no answers") {
		p.t.Errorf("it does not say why: %s", p.last["1"])
	}
}

// numbers holds what the client reads of a flood to its order.
func (p *pair) numbers(next *int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.other = func(f gjson.Result) {
		if f.Get("method").Str != "_n" {
			return
		}
		if n := int(f.Get("params.n").Int()); n != *next {
			p.t.Errorf("number %d follows %d", n, *next-1)
		}
		*next++
	}
}

// deafClient: the agent floods a client that reads nothing for a while.
func deafClient(p *pair, d time.Duration) {
	n, next := few(500_000), 0
	p.numbers(&next)
	p.hello()
	p.reading.Lock()
	p.tell("_flood", fmt.Sprintf(`{"n":%d,"size":300}`, n))
	p.ask("1", "_after", `{}`)
	select {
	case <-time.After(d):
	case <-p.exited:
	}
	p.reading.Unlock()
	p.answered()
	if next != n {
		p.t.Errorf("%d of %d frames came", next, n)
	}
}

// deafWhileOwed: an agent that owes an answer is read on for longer, not for ever.
func deafWhileOwed(p *pair) {
	n, next := few(700_000), 0
	p.numbers(&next)
	p.hello()
	p.reading.Lock()
	p.ask("1", "session/load", fmt.Sprintf(`{"sessionId":"s","cwd":"/","mcpServers":[],"n":%d}`, n))
	select {
	case <-time.After(5 * time.Second):
	case <-p.exited:
	}
	p.reading.Unlock()
	p.answered()
	if next != n || !strings.Contains(p.last["1"], `"result"`) {
		p.t.Errorf("%d of %d frames came, and %s", next, n, p.last["1"])
	}
}

// duplex: neither side reads before its own write is through.
func duplex(p *pair) {
	size := few(20 << 20)
	p.hello()
	p.reading.Lock()
	p.tell("_flood", fmt.Sprintf(`{"n":1,"size":%d}`, size))
	p.tell("_flood", fmt.Sprintf(`{"n":%d,"size":300}`, size/300))
	p.ask("1", "_large", `{"x":"`+strings.Repeat("y", size)+`"}`)
	for range 1000 {
		p.tell("_more", `{"x":"`+strings.Repeat("z", size/1000)+`"}`)
	}
	p.reading.Unlock()
	p.answered()
	p.reads()
}

// reads has the agent say what it has got, which must be what was written.
func (p *pair) reads() {
	p.t.Helper()
	p.writing.Lock()
	want := fmt.Sprintf("%x", p.sent.Sum(nil))
	p.writing.Unlock()
	if got := p.call(`"sum"`, "_sum", `{}`).Get("result.sha").Str; got != want {
		p.t.Errorf("the agent got other bytes than were written")
	}
}

// clientSaysItsLast: what was asked before the end is answered after it.
func clientSaysItsLast(p *pair) {
	p.hello()
	for i := range 1000 {
		p.ask(fmt.Sprint(i), "_held", `{}`)
	}
	p.in.Close()
	p.answered()
}

// clientReadsNoMore: an answer that nobody takes is the end of the client.
func clientReadsNoMore(p *pair) {
	p.hello()
	p.inexact = true
	p.reading.Lock()
	p.out.Close()
	p.reading.Unlock()
	for p.write(`{"jsonrpc":"2.0","method":"_release"}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"_echo"}`+"\n") && !p.isOver() {
	}
	select {
	case <-p.exited:
	case <-time.After(slowly(4 * time.Second)):
		p.t.Error("the shim lives on")
	}
}

func (p *pair) isOver() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// muteAgent: an agent that can say nothing any more is one that has ended.
func muteAgent(p *pair) {
	for i := range 10 {
		p.ask(fmt.Sprint(i), "_x", `{}`)
	}
	p.answered()
}

// deafenedAgent: what an agent cannot be told any more has an answer all the same.
func deafenedAgent(p *pair) {
	n, next := few(20_000), 0
	p.numbers(&next)
	p.hello()
	p.tell("_deafen", fmt.Sprintf(`{"n":%d}`, n))
	p.until("all that the agent has said", func() bool { return next == n })
	for i := range 10 {
		p.ask(fmt.Sprint(i), "_x", `{}`)
	}
	p.answered()
}

func thousand(p *pair) {
	p.hello()
	for i := range 1000 {
		p.ask(fmt.Sprint(i), "_held", `{}`)
	}
	p.tell("_ask", `{"n":1000}`)
	p.tell("_release", `{}`)
	p.answered()
	p.hears(1000, 1000)
}

// hears waits until the agent has got all its answers.
func (p *pair) hears(answers, ids int) {
	p.t.Helper()
	for {
		r := p.call(`"sum"`, "_sum", `{}`)
		a, n := r.Get("result.answers").Int(), r.Get("result.ids").Int()
		if int(a) == answers && int(n) == ids {
			return
		}
		if int(a) > answers {
			p.t.Errorf("the agent got %d answers with %d ids, and %d with %d are due", a, n, answers, ids)
			return
		}
	}
}

func twice(p *pair) {
	p.hello()
	for range 3 {
		p.ask("7", "_held", `{}`)
	}
	p.tell("_release", `{}`)
	p.answered()
	// The agent asks under the ids that it has in use already.
	p.note(func() { p.mute = true })
	var open []string
	p.note(func() {
		p.other = func(f gjson.Result) {
			if f.Get("method").Str == "_asked" {
				open = append(open, f.Get("id").Raw)
			}
		}
	})
	p.tell("_ask", `{"n":2}`)
	p.tell("_ask", `{"n":2}`)
	p.until("what the agent asks", func() bool { return len(open) == 4 })
	for _, id := range open {
		p.write(`{"jsonrpc":"2.0","id":` + id + `,"result":{}}` + "\n")
	}
	p.hears(4, 2)
}

// answersTwice: who relays passes the second answer on; with the rules of an agent
// it is one to nothing.
func answersTwice(p *pair) {
	p.hello()
	p.doubles = !p.agy
	for i := range 100 {
		p.ask(fmt.Sprint(i), "_twice", `{}`)
	}
	p.answered()
	p.call(`"then"`, "_then", `{}`)
	p.mu.Lock()
	defer p.mu.Unlock()
	if want := map[bool]int{true: 0, false: 100}[p.agy]; len(p.stray) != want {
		p.t.Errorf("%d second answers came, and %d should", len(p.stray), want)
	}
}

func answersToNothing(p *pair) {
	p.hello()
	p.doubles = !p.agy
	lines := []string{
		`{"jsonrpc":"2.0","id":12345,"result":{}}`, `{"jsonrpc":"2.0","id":"nobody","error":{"code":-1,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"parse error"}}`,
		`{"jsonrpc":"2.0","result":{}}`, `{"id":1}`, `{}`,
	}
	for range 100 {
		for _, l := range lines {
			p.write(l + "\n")
			p.raw("_raw", l+"\n")
		}
	}
	p.doubles = true // errors without an id are for whoever reads them
	if r := p.call(`"then"`, "_then", `{}`); r.Get("result.did").Str != "_then" {
		p.t.Errorf("then came %s", r.Raw)
	}
}

//go:build linux

package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// strangeIDs: an id is the text that it is, both ways.
func strangeIDs(p *pair) {
	p.hello()
	ids := []string{
		"0", "-0", "-1", "1", "1.0", "1e0", "0.1", "9007199254740992", "9223372036854775808", "18446744073709551616",
		"1" + strings.Repeat("0", 400), `""`, `"1"`, `"a\"b"`, `"\u0041"`, `"A"`, `"\ud83d\ude00"`, `"\ud83d"`, `"😀"`,
		`"` + strings.Repeat("l", 1<<20) + `"`, "true", "false", "[]", "{}", `[1,2]`, `{"a":1}`,
	}
	for _, id := range ids {
		p.ask(id, "_held", `{}`)
	}
	p.tell("_release", `{}`)
	p.answered()
	seen := map[string]bool{}
	p.note(func() {
		p.other = func(f gjson.Result) {
			if f.Get("method").Str == "_asked" {
				seen[f.Get("id").Raw] = true
			}
		}
	})
	for _, id := range ids {
		p.raw("_raw", `{"jsonrpc":"2.0","id":`+id+`,"method":"_asked"}`+"\n")
	}
	p.until("what the agent asks under these ids", func() bool { return len(seen) == len(ids) })
	for _, id := range ids {
		if !seen[id] {
			p.t.Errorf("id %.40s did not come as it is", id)
		}
	}
	p.hears(len(ids), len(ids))
	// A request whose id is null cannot be told from others like it, and may be
	// taken for a notification.
	p.write(`{"jsonrpc":"2.0","id":null,"method":"_then"}` + "\n")
	p.note(func() { p.doubles = true })
	p.call("1", "_then", `{}`)
}

// mixed are the sizes of lines that make a reader's buffer grow, and move what is in it,
// at every kind of boundary; they go in parts, each at once.
var mixed = [][]int{
	{3<<20 + 11, 3<<19 + 7, 5<<20 + 3, 5<<20 + 5, 5<<20 + 1},
	{200, 3<<19 + 7, 100, 7<<20 + 13, 70, 70, 70, 5<<20 + 1, 90, 4<<20 - 1, 4 << 20},
	{8 << 20, 1 << 20, 1<<20 + 1, 1<<20 - 1, 65536, 65535, 4<<20 + 1},
}

// mix are the lines of a part, with nothing in them that comes twice.
func mix(method string, part int) []byte {
	rng := rand.NewChaCha8([32]byte{byte(part)})
	var all []byte
	for i, size := range mixed[part] {
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":{"n":%d,"x":"`, method, i)
		end := `"}}` + "\n"
		text := make([]byte, max(0, size-len(line)-len(end)))
		rng.Read(text)
		text = base64.StdEncoding.AppendEncode(nil, text)[:len(text)]
		all = append(append(append(all, line...), text...), end...)
	}
	return all
}

// mixture: whatever the sizes of lines are, in whichever order and both ways at once,
// each comes as it was sent, also to a client that begins to read when all is there.
func mixture(p *pair, late bool) {
	p.hello()
	var want [][]byte
	p.note(func() {
		p.other = func(f gjson.Result) {
			if f.Get("method").Str != "_n" || len(want) == 0 {
				return
			}
			if f.Raw != string(want[0]) {
				p.t.Errorf("a line of %d bytes came as one of %d, or with other bytes", len(want[0]), len(f.Raw))
			}
			want = want[1:]
		}
	})
	parts := len(mixed)
	if unhurried > 1 {
		parts = 1 // the bytes are the same, and take a minute
	}
	for part := range parts {
		lines := bytes.SplitAfter(mix("_n", part), []byte("\n"))
		p.note(func() { want = lines[:len(lines)-1] })
		if late {
			p.reading.Lock()
		}
		p.tell("_mix", fmt.Sprintf(`{"n":%d}`, part))
		p.write(string(mix("_more", part)))
		if late {
			p.reading.Unlock()
		}
		p.call(fmt.Sprint(part), "_then", `{}`)
		if p.note(func() {}); len(want) != 0 {
			p.t.Errorf("%d lines did not come", len(want))
		}
	}
	p.reads()
}

// endless: a line beyond the limit is passed over and told of, and the next one
// goes through.
func endless(p *pair, size, limit int) {
	p.inexact = true
	p.hello()
	p.expect("5")
	p.write(`{"jsonrpc":"2.0","id":5,"method":"_long","params":{"x":"`)
	pad := strings.Repeat("x", 1<<20)
	for range size >> 20 {
		p.write(pad)
	}
	p.write(`"}}` + "\n")
	p.until("the error", func() bool { return p.due["5"] == 0 })
	if want := fmt.Sprintf("more than %d MiB", limit); !strings.Contains(p.last["5"], want) {
		p.t.Errorf("it does not say %q: %s", want, p.last["5"])
	}
	p.call("6", "_then", `{}`)
	p.tell("_flood", fmt.Sprintf(`{"n":1,"size":%d}`, size))
	p.call("7", "_then", `{}`)
	p.mu.Lock()
	n := p.lines
	p.mu.Unlock()
	if n != 4 {
		p.t.Errorf("%d lines came, and four are answers", n)
	}
}

// noise: a million lines of no protocol, both ways, keep nothing from its place.
func noise(p *pair, line string) {
	n := few(1_000_000)
	p.hello()
	p.note(func() { p.lines = 0 })
	p.tell("_repeat", fmt.Sprintf(`{"n":%d,"b":%q}`, n, encoded(line)))
	block := strings.Repeat(line, 1000)
	for range n / 1000 {
		p.write(block)
	}
	p.call("1", "_then", `{}`)
	p.mu.Lock()
	defer p.mu.Unlock()
	if want := map[bool]int{true: 1, false: n + 1}[p.agy]; p.lines != want {
		p.t.Errorf("%d lines came, and %d should", p.lines, want)
	}
}

// loud: what an agent says on stderr is passed on whole, and keeps nothing back.
func loud(p *pair, lines int) {
	lines = few(lines)
	p.hello()
	p.call("1", "_stderr", fmt.Sprintf(`{"n":%d}`, lines))
	p.tell("_exit", `{"n":0}`)
	// Nobody has to take as much. What was lost is told.
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		p.mu.Lock()
		came := p.errs / 1000
		p.mu.Unlock()
		if lost := p.logged("were lost", "lines="); came+lost == lines {
			return
		} else if time.Now().After(deadline) {
			p.t.Fatalf("%d of %d lines came, and the log says that %d were lost", came, lines, lost)
		}
	}
}

// stillborn: an agent that cannot live is not tried for ever.
func stillborn(p *pair) {
	for i := range 20 {
		r := p.call(fmt.Sprint(i), "initialize", `{"protocolVersion":1}`)
		if !strings.Contains(r.Get("error").Raw, "code 3") {
			p.t.Errorf("the error does not say how it ended: %s", r.Raw)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := strings.Count(p.stderr.String(), "hostile: this machine is not good enough"); n > 6 {
		p.t.Errorf("it was started %d times", n)
	}
}

func dripping(p *pair) {
	p.hello()
	p.expect("1")
	p.raw("_drip", strings.Repeat(`{"jsonrpc":"2.0","method":"_x","params":{}}`+"\r\n", 20))
	p.ask("2", "_then", `{}`)
	p.write(`{"jsonrpc":"2.0","id":1,"method":"_held"}` + "\n")
	p.tell("_release", `{}`)
	p.answered()
}

// clinging: what ignores a SIGTERM and has the pipes is gone all the same.
func clinging(p *pair) {
	p.hello()
	began := time.Now()
	p.call("1", "_then", `{}`)
	p.ask("2", "_held", `{}`)
	p.in.Close()
	p.answered()
	if d := time.Since(began); d > slowly(4*time.Second) {
		p.t.Errorf("the last request was answered after %v", d)
	}
}

// torn are beginnings of lines, cut at every kind of boundary.
var torn = []string{
	`{`, `{"jsonrpc":"2.0","method":"_x","params":{"text":"half of`, `{"jsonrpc":"2.0","id":5,"result":{"text":"a \`,
	`{"jsonrpc":"2.0","id":5,"result":{"text":"a \u00`, "{\"jsonrpc\":\"2.0\",\"method\":\"_x\",\"params\":{\"text\":\"a \xe2\x82",
	`{"jsonrpc":"2.0","id":6,"result":{}}` + "\r", `{"jsonrpc":"2.0","id":6,"result":{}`, "\xef\xbb", " ", "no protocol", `[{"jsonrpc":"2.0","id":`,
}

// tornAgent: the half of a line is the last of a process, and the next frame begins
// a line of its own.
func tornAgent(p *pair, half string) {
	p.inexact = true
	p.hello()
	p.ask("1", "_never", `{}`)
	// A relay passes on what looks like an answer, as it does anything.
	p.note(func() { p.doubles = !p.agy })
	p.raw("_raw", half)
	p.tell("_exit", `{"n":1}`)
	p.answered()
	if !strings.Contains(p.last["1"], "code 1") {
		p.t.Errorf("the answer does not say how it ended: %s", p.last["1"])
	}
	if r := p.call("2", "initialize", `{"protocolVersion":1}`); !r.Get("result").Exists() {
		p.t.Errorf("the next process: %s", r.Raw)
	}
}

// tornClient: the client's last line has no end.
func tornClient(p *pair, half string) {
	p.hello()
	p.ask("1", "_held", `{}`)
	p.write(half)
	p.in.Close()
	p.answered()
}

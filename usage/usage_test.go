package usage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"acp-shim/proxy"
)

// agent is an agent process in memory: what it says is written by the test.
type agent struct {
	in   io.WriteCloser
	out  *os.File
	done chan struct{}
	say  *os.File
}

func (a *agent) Pid() int              { return 1 }
func (a *agent) Stdin() io.WriteCloser { return a.in }
func (a *agent) StdinFD() int          { return -1 }
func (a *agent) Stdout() proxy.Stdout  { return a.out }
func (a *agent) Done() <-chan struct{} { return a.done }
func (a *agent) Exit() proxy.Exit      { return proxy.Exit{Words: "exited with code 0"} }
func (a *agent) Terminate()            { a.Kill() }
func (a *agent) Release()              {}
func (a *agent) Kill() {
	select {
	case <-a.done:
	default:
		close(a.done)
		a.say.Close()
	}
}

type latch map[string]First

func (l latch) Latched(build string) (First, bool) { f, ok := l[build]; return f, ok }
func (l latch) Latch(build string, first First)    { l[build] = first }

// converse sends what an agent says in one session, behind an answer to
// initialize and to session/new, and returns the watch and what came to the client.
func converse(t *testing.T, opt Options, asks []string, says []string) (*Watch, []string) {
	t.Helper()
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	received := linesOf(inR)
	a := &agent{in: inW, out: outR, done: make(chan struct{}), say: outW}
	w := New(opt)
	clientIn, clientSays := io.Pipe()
	shimSays, clientOut := io.Pipe()
	loop := proxy.New(proxy.Config{
		Options: proxy.Options{Chain: []proxy.Interceptor{w}, Policy: func([]byte) proxy.Policy { return proxy.Policy{Exclusive: true} }},
		In:      clientIn, Out: clientOut, OutFD: -1,
		Start: func(gen int) (proxy.Process, error) {
			if gen > 1 {
				return nil, errors.New("one is enough")
			}
			return a, nil
		},
	})
	ended := make(chan struct{})
	go func() { loop.Run(context.Background()); close(ended) }()
	lines := linesOf(shimSays)
	next := func(from <-chan string, what string) (line string) {
		select {
		case line = <-from:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s did not come through", what)
		}
		return line
	}
	var came []string
	exchange := func(ask, say string) {
		if ask != "" {
			fmt.Fprintln(clientSays, ask)
			next(received, ask)
		}
		fmt.Fprintln(outW, say)
		came = append(came, next(lines, say))
	}
	exchange(`{"id":0,"method":"initialize"}`, `{"id":0,"result":{"agentCapabilities":{"loadSession":true},"agentInfo":{"name":"a","version":"1"}}}`)
	exchange(`{"id":1,"method":"session/new","params":{}}`, `{"id":1,"result":{"sessionId":"s"}}`)
	for i := range says {
		exchange(asks[i], says[i])
	}
	loop.Terminate(0, "the test ends it")
	<-ended
	return w, came
}

// linesOf hands over the lines of a stream.
func linesOf(r io.Reader) <-chan string {
	lines := make(chan string, 1000)
	go func() {
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// TestAPlainChunkIsNotLookedInto holds the cheap look to what it is for.
func TestAPlainChunkIsNotLookedInto(t *testing.T) {
	chunk := `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"content":{"text":"HELLO ACP.","type":"text"},"sessionUpdate":"agent_message_chunk"}}}`
	if mayCount([]byte(chunk)) {
		t.Error("every chunk is looked into")
	}
}

const ask = `{"id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`

func TestFigures(t *testing.T) {
	for _, c := range []struct {
		name  string
		says  []string
		want  Totals
		first First
	}{
		{"usage_update, as 1.3.0 has it", []string{`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":120,"size":1000}}}`},
			Totals{Used: 120, Size: 1000}, First{"usage_update", "update.used", 120}},
		{"the session's so far", []string{
			`{"id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15}}}`,
			`{"id":3,"result":{"stopReason":"end_turn","usage":{"inputTokens":30,"outputTokens":9,"totalTokens":39}}}`},
			Totals{Tokens: Tokens{Input: 30, Output: 9, Total: 39}, Turns: 2}, First{"session/prompt", "result.usage.inputTokens", 10}},
		{"a turn's, as gemini has it", []string{
			`{"id":2,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":10,"output_tokens":5}}}}}`,
			`{"id":3,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":20,"output_tokens":1}}}}}`},
			Totals{Tokens: Tokens{Input: 30, Output: 6, Total: 36}, Turns: 2}, First{"session/prompt", "result._meta.quota.token_count.input_tokens", 10}},
		{"an update's _meta", []string{`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"_meta":{"totalTokens":7}}}}`},
			Totals{Tokens: Tokens{Total: 7}}, First{"agent_message_chunk", "update._meta.totalTokens", 7}},
		{"what tools say is no figure", []string{`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","rawInput":{"usage":{"inputTokens":5}},"content":[{"usage":9}]}}}`},
			Totals{}, First{}},
		{"what cannot be a count is no figure", []string{
			`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":5,"size":1000}}}`,
			`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1e308,"size":-1}}}`,
			`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":"7","size":null,"x":1}}}`,
			`{"id":5,"result":{"stopReason":"end_turn","usage":{"inputTokens":99999999999999999999999,"outputTokens":"5","totalTokens":-3,"cachedTokens":1}}}`},
			Totals{Tokens: Tokens{Input: 1, Cached: 1, Total: 1}, Used: 5, Size: 1000, Turns: 1}, First{"session/prompt", "result.usage.cachedTokens", 1}},
		{"a token that is a string is a login", []string{`{"id":2,"result":{"stopReason":"end_turn","_meta":{"token":"abc","access_token":"7","maxTokens":100}}}`},
			Totals{Turns: 1}, First{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asks []string
			for i, say := range c.says {
				if say[2] == 'i' {
					asks = append(asks, fmt.Sprintf(ask, i+2))
				} else {
					asks = append(asks, "")
				}
			}
			first := latch{}
			w, _ := converse(t, Options{Latch: first}, asks, c.says)
			if got := w.Sessions()["s"]; got != c.want {
				t.Errorf("totals %+v, want %+v", got, c.want)
			}
			if got := first["a 1"]; got != c.first {
				t.Errorf("latched %+v, want %+v", got, c.first)
			}
		})
	}
}

// TestTurns has the books of each turn closed with its model.
func TestTurns(t *testing.T) {
	var turns []Turn
	quota := func(id, in int) string {
		return fmt.Sprintf(`{"id":%d,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":%d,"output_tokens":1}}}}}`, id, in)
	}
	// What the agent says itself counts: a client may have set "auto".
	const own = `{"id":9,"result":{"_meta":{"quota":{"token_count":{"input_tokens":40},"model_usage":[{"model":"m9","token_count":{"input_tokens":40}}]}}}}`
	converse(t, Options{Turn: func(turn Turn) { turns = append(turns, turn) }},
		[]string{`{"id":2,"method":"session/set_config_option","params":{"sessionId":"s","configId":"model","value":"m1"}}`, fmt.Sprintf(ask, 3),
			`{"id":4,"method":"session/set_model","params":{"sessionId":"s","modelId":"m2"}}`, fmt.Sprintf(ask, 5),
			`{"id":6,"method":"session/set_model","params":{"sessionId":"s","modelId":"m3"}}`, fmt.Sprintf(ask, 7), fmt.Sprintf(ask, 8), fmt.Sprintf(ask, 9), fmt.Sprintf(ask, 10)},
		[]string{`{"id":2,"result":{"configOptions":[]}}`, quota(3, 10), `{"id":4,"result":{}}`, quota(5, 20),
			`{"id":6,"error":{"code":-32602,"message":"no such model"}}`, quota(7, 30), `{"id":8,"result":{"stopReason":"end_turn"}}`, own, quota(10, 50)})
	var got []string
	for _, turn := range turns {
		got = append(got, fmt.Sprintf("%s %s %s %d of %d", turn.Session, turn.Model, turn.Build, turn.Tokens.Input, turn.Totals.Input))
	}
	if want := "[s m1 a 1 10 of 10 s m2 a 1 20 of 30 s m2 a 1 30 of 60 s m9 a 1 40 of 100 s m2 a 1 50 of 150]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// TestNormalise adds the standard fields where there are only an agent's own, and
// changes nothing else.
func TestNormalise(t *testing.T) {
	own := `{"id":2,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":10,"output_tokens":5}}}}}`
	for _, row := range []struct {
		name, say, want string
		on              bool
	}{
		{"an agent's own", own, `{"id":2,"result":{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":10,"output_tokens":5}}},"usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15}}}`, true},
		{"off", own, own, false},
		{"standard", `{"id":2,"result":{"usage":{"inputTokens":10}}}`, `{"id":2,"result":{"usage":{"inputTokens":10}}}`, true},
		{"none", `{"id":2,"result":{"_meta":{"note":"x"}}}`, `{"id":2,"result":{"_meta":{"note":"x"}}}`, true},
		{"an error", `{"id":2,"error":{"code":1,"message":"usage","data":{"quota":{"token_count":{"input_tokens":1}}}}}`, `{"id":2,"error":{"code":1,"message":"usage","data":{"quota":{"token_count":{"input_tokens":1}}}}}`, true},
	} {
		_, came := converse(t, Options{Normalise: func(exclusive bool) bool { return exclusive && row.on }}, []string{fmt.Sprintf(ask, 2)}, []string{row.say})
		if got := came[len(came)-1]; got != row.want {
			t.Errorf("%s: %s", row.name, got)
		}
	}
}

// TestHugeSums stay sums: many huge figures do not come out below zero.
func TestHugeSums(t *testing.T) {
	var sum Tokens
	for range 3000 {
		sum = sum.Plus(Tokens{Input: maxFigure, Total: maxFigure})
	}
	if sum.Input != 1<<63-1 || sum.Total != sum.Input {
		t.Errorf("%+v", sum)
	}
}

// Command outside is a shim of somebody else's, made of acp-shim's packages: it
// answers a method of its own, marks every finished turn, allows what the agent
// asks for, and has cancel, quirks, usage and a capture from the library.
//
// It is the example of how the packages are used from another module, and the
// proof that they can be.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"

	"acp-shim/cancelshim"
	"acp-shim/proxy"
	"acp-shim/record"
	"acp-shim/rewrite"
	"acp-shim/usage"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: outside CAPTURE AGENT [ARGS]")
		os.Exit(2)
	}
	code, err := run(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		code = 2
	}
	os.Exit(code)
}

func run(capture string, agent []string) (int, error) {
	path, err := exec.LookPath(agent[0])
	if err != nil {
		return 0, err
	}
	quirks, err := rewrite.New(rewrite.Options{Quirks: []string{"tool-display=on"}})
	if err != nil {
		return 0, err
	}
	defer quirks.Close()
	recorder, err := record.Create(capture, record.Options{Version: "outside", Agent: "agent"})
	if err != nil {
		return 0, err
	}
	tokens := usage.New(usage.Options{})
	id := rand.Text()
	loop := proxy.New(proxy.Config{
		Options: proxy.Options{
			Chain: []proxy.Interceptor{
				greeter{},
				rewrite.NewPermissions(rewrite.Allow),
				cancelshim.New(cancelshim.Options{}),
				tokens,
				quirks,
			},
			Taps:   []proxy.Tap{recorder},
			Policy: func(result []byte) proxy.Policy { return quirks.Policy("auto", result) },
			Nonce:  id,
		},
		In: os.Stdin, Out: os.Stdout, OutFD: -1,
		Start: func(gen int) (proxy.Process, error) {
			return proxy.Command(proxy.Spec{Path: path, Args: agent[1:], RunID: id, Gen: gen})
		},
	})
	code := loop.Run(context.Background())
	recorder.SetSummary(tokens.Summary())
	return code, recorder.Close()
}

// greeter is an interceptor of this program's own.
type greeter struct{ proxy.Base }

func (greeter) FromClient(s *proxy.Step, m *proxy.Message) {
	if m.Kind == proxy.KindRequest && m.Method == "_outside/greet" {
		s.Drop("answered here")
		s.Answer(s.Request(), proxy.ResultBody(`{"hello":"from outside"}`), "a method of ours")
	}
}

func (greeter) FromAgent(s *proxy.Step, m *proxy.Message) {
	if r := s.Request(); m.Kind == proxy.KindResponse && r != nil && r.Method == "session/prompt" && m.Result.Found() {
		m.Add(m.Result, "_meta", `{"outside":true}`)
	}
}

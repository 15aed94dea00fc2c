package record_test

import (
	"fmt"
	"os"
	"path/filepath"

	"acp-shim/proxy"
	"acp-shim/record"
)

// A Writer is a tap of the proxy; here frames are handed to it directly. What
// comes back is the conversation without its secrets.
func Example() {
	dir, err := os.MkdirTemp("", "captures")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	w, err := record.Create(filepath.Join(dir, "run.jsonl"), record.Options{
		Version: "0.1.0",
		Agent:   "agy",
		Argv:    []string{"agy_acp_server.par", "--uid="},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	w.Event(&proxy.Event{Kind: "spawn", Agent: 1})
	w.Frame(&proxy.Frame{
		From:  proxy.Client,
		To:    proxy.AgentPeer(1),
		Bytes: []byte(`{"id":1,"method":"authenticate","params":{"methodId":"gemini-api-key","apiKey":"AIza..."}}` + "\n"),
		Edits: []proxy.Edit{{At: 43, Old: "method", New: "methodId"}},
	})
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}

	c, err := record.Open(w.Path())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println("agent:", c.Header.Agent.Argv)
	for e, err := range c.Entries() {
		switch {
		case err != nil:
			fmt.Println(err) // a damaged line; the loop goes on
		case e.IsFrame():
			fmt.Printf("received: %ssent:     %s", e.Received(), e.Sent())
		case e.Event != "":
			fmt.Println("event:", e.Event)
		}
	}
	// Output:
	// agent: [agy_acp_server.par --uid=]
	// event: spawn
	// received: {"id":1,"method":"authenticate","params":{"method":"gemini-api-key","apiKey":"[redacted]"}}
	// sent:     {"id":1,"method":"authenticate","params":{"methodId":"gemini-api-key","apiKey":"[redacted]"}}
	// event: end
}

func ExampleRedact() {
	frame := []byte(`{"params":{"mcpServers":[{"url":"https://me:pw@host/","headers":[{"name":"x-bridge-token","value":"abc"}]}]}}`)
	fmt.Printf("%s\n", record.Redact(frame))
	// Output:
	// {"params":{"mcpServers":[{"url":"https://redacted@host/","headers":[{"name":"x-bridge-token","value":"[redacted]"}]}]}}
}

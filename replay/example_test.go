package replay_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"strings"

	"acp-shim/record"
	"acp-shim/replay"
)

// recording is a capture as acp-shim --record writes it. A test has it in a file,
// and opens it with [replay.Open].
const recording = `{"format":"acp-shim-capture","version":1,"start":"2026-11-30T11:20:00Z","shim":"0.1.0","pid":1,"redacted":true,"agent":{"name":"agy"}}
{"seq":1,"t":1000000,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/home/dev/app","mcpServers":[]}}}
{"seq":2,"t":2000000,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"7f3c"}}}
{"seq":3,"t":3000000,"from":"client","to":"agent#1","frame":{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"7f3c","prompt":[{"type":"text","text":"Hello"}]}}}
{"seq":4,"t":4000000,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"7f3c","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I am in /home/dev/app."}}}}}
{"seq":5,"t":5000000,"from":"agent#1","to":"client","frame":{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}}
`

// A client under test is given the player in the place of an agent's pipes. Here it
// works in another directory and counts its requests in another way than the one
// that was recorded.
func ExampleScript_Agent() {
	script, err := replay.Parse(strings.NewReader(recording), replay.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer script.Close()
	agent := script.Agent()
	defer agent.Close()

	answers := bufio.NewReader(agent)
	for _, request := range []string{
		`{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`,
		`{"jsonrpc":"2.0","id":"b","method":"session/prompt","params":{"sessionId":"7f3c","prompt":[{"type":"text","text":"Hello"}]}}`,
		`{"jsonrpc":"2.0","id":"c","method":"session/prompt","params":{"sessionId":"7f3c","prompt":[{"type":"text","text":"Goodbye"}]}}`,
	} {
		fmt.Fprintln(agent, request)
		for {
			line, err := answers.ReadString('\n')
			if err != nil {
				log.Fatal(err)
			}
			fmt.Print(line)
			if strings.Contains(line, `"id"`) {
				break
			}
		}
	}
	fmt.Println("requests that were like none:", agent.Misses())
	// Output:
	// {"jsonrpc":"2.0","id":"a","result":{"sessionId":"7f3c"}}
	// {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"7f3c","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I am in /work."}}}}
	// {"jsonrpc":"2.0","id":"b","result":{"stopReason":"end_turn"}}
	// {"jsonrpc":"2.0","id":"c","error":{"code":-32603,"message":"acp-shim replay: no recorded session/prompt is like this one; the nearest is that of line 4: prompt[0].text is \"Goodbye\" and was \"Hello\"","data":{"method":"session/prompt","line":4,"differs":[{"path":"prompt[0].text","recorded":"\"Hello\"","got":"\"Goodbye\""}]}}}
	// requests that were like none: 1
}

// Entries may come from anywhere, and be left out or made up on the way.
func ExampleNew() {
	entries := record.Read(strings.NewReader(recording))
	script, err := replay.New(entries, replay.Options{Speed: 10})
	if err != nil {
		log.Fatal(err)
	}
	defer script.Close()
	fmt.Println(script.Directories())
	// Output: [/home/dev/app]
}

// An agent under test is driven by the recorded client. Here the agent is the
// recorded one.
func ExampleScript_Drive() {
	script, err := replay.Parse(strings.NewReader(recording), replay.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer script.Close()
	agent := script.Agent()
	sum, err := script.Drive(context.Background(), agent.Stdin(), agent, replay.DriveOptions{Cwd: "/work"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d requests answered, %d frames received\n", sum.Answered, sum.Requests, sum.Received)
	// Output: 2 of 2 requests answered, 3 frames received
}

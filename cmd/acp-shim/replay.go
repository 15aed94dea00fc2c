package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/term"

	"acp-shim/replay"
)

// replayCmd plays one half of a recording for the other half.
type replayCmd struct {
	File  string   `arg:"" help:"The recording: a capture, or plain lines of JSON-RPC."`
	Agent []string `arg:"" optional:"" help:"With --as-client, behind --: the agent and its arguments."`

	AgentSide bool   `help:"Play what crossed between the shim and the agent, to stand behind a shim."`
	Lenient   bool   `help:"Let a request that is like none have the next answer of its method."`
	Speed     string `default:"max" placeholder:"1|10|max" help:"How fast, as a multiple of the recorded speed (${default})."`

	AsClient bool          `help:"Drive an agent with the recorded client, and record that."`
	Record   string        `placeholder:"OUT" help:"With --as-client, where the new capture goes (beside FILE)."`
	Raw      bool          `help:"With --as-client, keep secrets in the new capture."`
	Cwd      string        `placeholder:"DIR" help:"With --as-client, stands in for the recorded working directories (the current one, if one of them is not here)."`
	Patience time.Duration `default:"60s" help:"With --as-client, how long the agent may say nothing (${default})."`
}

// Help is what the flags do not say.
func (replayCmd) Help() string {
	return `The recorded agent answers requests that are like the recorded ones, in any order: by method and params, whatever the ids,
session ids and working directory. Give it to a client in the place of its agent. A request that is like none is answered with an
error that says what the nearest one has different, which is told on stderr, too; the exit code is then 1.

With --as-client the recorded client drives the agent behind --. The exit code is 1 if a request that was answered in the recording
has no answer now. acp-shim diff compares the new capture with the old one.

  acp-shim replay run.jsonl                             in a client's configuration, as its agent
  acp-shim replay --as-client run.jsonl -- agy_acp_server.par`
}

func (c replayCmd) Run() error {
	speed, err := c.speed()
	if err != nil {
		return err
	}
	switch {
	case c.AsClient && len(c.Agent) == 0:
		return errors.New("replay --as-client drives an agent: name it behind --")
	case c.AsClient && c.AgentSide:
		return errors.New("replay --as-client plays the client, which --agent-side has none of")
	case !c.AsClient && len(c.Agent) > 0:
		return errors.New("replay is the agent itself; to drive another one, say --as-client")
	case !c.AsClient && c.File == "-":
		return errors.New("replay reads its client from standard input: the recording has to be a file")
	}
	script, err := c.open(replay.Options{
		AgentSide: c.AgentSide, Lenient: c.Lenient, Speed: speed,
		Damaged: func(err error) { c.tell(err.Error() + "; it is passed over") },
		Missed: func(m replay.Miss) {
			if m.Request || m.Method == "" {
				c.tell(m.Error())
			}
		},
	})
	if err != nil {
		return err
	}
	defer script.Close()
	if c.AsClient {
		return c.drive(script)
	}
	if term.IsTerminal(0) {
		c.tell("waiting for an ACP client on standard input; see acp-shim help replay")
	}
	return c.play(script)
}

func (c replayCmd) open(o replay.Options) (*replay.Script, error) {
	if c.File == "-" {
		return replay.Parse(os.Stdin, o)
	}
	return replay.Open(c.File, o)
}

func (replayCmd) tell(s string) { fmt.Fprintln(os.Stderr, "acp-shim:", shown(s)) }

func (c replayCmd) speed() (float64, error) {
	if c.Speed == "max" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(c.Speed, 64)
	if err != nil || !(f > 0 && f <= 1e6) {
		return 0, fmt.Errorf("--speed is %q: it must be max, or a number above 0", c.Speed)
	}
	return f, nil
}

// play is the agent.
func (replayCmd) play(script *replay.Script) error {
	p := script.Agent()
	go func() {
		// Whatever ends the client's output, it says no more.
		io.Copy(p, os.Stdin)
		p.CloseWrite()
	}()
	if _, err := io.Copy(os.Stdout, p); err != nil {
		return fmt.Errorf("playing the recording: %w", err)
	}
	if p.Misses() > 0 {
		return exitCode(1)
	}
	return nil
}

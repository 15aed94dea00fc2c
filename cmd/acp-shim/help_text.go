package main

// What the flags of a command do not say: kong prints it below its usage. Each ends
// with examples that can be typed.

func (demoCmd) Help() string {
	return `No account and no Antigravity is needed, and nothing of yours is touched.

  acp-shim demo
  acp-shim demo --build 1.3.0 --keep demo      and then acp-shim show demo/capture.jsonl`
}

func (sessionsCmd) Help() string {
	return `What is remembered of conversations, so that they outlive their process; the agent has the conversations themselves.

  acp-shim sessions                       all that is remembered
  acp-shim sessions 4be8                  those whose id begins so
  acp-shim sessions --older 30d --forget-all
  acp-shim sessions repair ID             mend one that fails with "could not find doneCh"`
}

func (redactCmd) Help() string {
	return `What a capture has of headers, environments, tokens, keys, cookies and login pages is replaced, wherever it shows
up again, and the capture still replays. Nobody can find what was split or encoded: look before you send it.

  acp-shim redact run.jsonl                             writes run.redacted.jsonl`
}

func (showCmd) Help() string {
	return `What the shim changed is marked; chunks of a stream are folded into one line.

  acp-shim show run.jsonl
  acp-shim show --follow run.jsonl                      while it is written
  acp-shim show --method 'session/*' --slow 500ms run.jsonl
  acp-shim show --where 'params.update.kind=="edit"' --json run.jsonl`
}

func (statsCmd) Help() string {
	return `Replayed history counts in none of them.

  acp-shim stats run.jsonl
  acp-shim stats --json run.jsonl | jq 'select(.kind=="turn").first'`
}

func (searchCmd) Help() string {
	return `The exit code is 1 where nothing is found, as grep has it.

  acp-shim search 'quota|limit' captures/
  acp-shim search -il main.go captures/                 names of captures only`
}

func (viewCmd) Help() string {
	return `The page has everything in it, loads nothing, and runs nothing of what the peers have said.

  acp-shim view run.jsonl
  acp-shim view --output run.html run.jsonl`
}

func (validateCmd) Help() string {
	return `The exit code is 1 where a frame is not as ACP has it; what ACP does not know, as methods that begin with _, is a
warning.

  acp-shim validate run.jsonl`
}

func (diffCmd) Help() string {
	return `One conversation on two builds: what the agent offers, says, and how long it takes. The exit code is 1 where they
differ.

  acp-shim diff rc01.jsonl 1.3.0.jsonl`
}

func (exportCmd) Help() string {
	return `Secrets are left out, unless you say --raw.

  acp-shim export --format md run.jsonl >run.md         a transcript to read
  acp-shim export --format otlp run.jsonl               spans for a collector`
}

func (importCmd) Help() string {
	return `What comes out can be shown, drawn, compared and replayed as any other capture.

  acp-shim import lines.jsonl --output run.jsonl        one JSON-RPC message a line`
}

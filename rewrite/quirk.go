package rewrite

import (
	"fmt"
	"sort"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"acp-shim/proxy"
)

// Direction is the way of the frames that a quirk is about.
type Direction string

const (
	// ToAgent is what the client says.
	ToAgent Direction = "to the agent"
	// ToClient is what the agent says.
	ToClient Direction = "to the client"
	// BothWays is a request that is sent in another form, and its answer.
	BothWays Direction = "both ways"
	// Stderr is what the agent writes there.
	Stderr Direction = "stderr"
	// Beside is what an agent does beside its streams.
	Beside Direction = "beside the frames"
)

// Quirk is one row of the table: something that goes wrong between clients and
// the Antigravity server, and what is done about it.
type Quirk struct {
	// Name switches it.
	Name string
	// Builds are the builds of the server that it was seen with, in words.
	Builds string
	// Wrong is what goes wrong without it, and how that is known: seed is a
	// verified document about RC01, report somebody's account of the wire.
	Wrong string
	// Does is what the shim does.
	Does string
	// Default tells that it is on unless it is switched off.
	Default bool
	// Direction is the way of the frames it is about.
	Direction Direction

	requests []string // methods of the client's that down sees
	down     func(r *Rewriter, s *proxy.Step, m *proxy.Message)
	says     []string // methods of the agent's that up sees
	up       func(r *Rewriter, s *proxy.Step, m *proxy.Message)
	answers  []string // methods of the client's whose answers back sees; "*" is all
	back     func(r *Rewriter, s *proxy.Step, m *proxy.Message)
}

const (
	methodSetModel = "session/set_model" // left the schema, and is still sent

	methodInitialize   = acp.AgentMethodInitialize
	methodAuthenticate = acp.AgentMethodAuthenticate
	methodNew          = acp.AgentMethodSessionNew
	methodLoad         = acp.AgentMethodSessionLoad
	methodResume       = acp.AgentMethodSessionResume
	methodFork         = acp.AgentMethodSessionFork
	methodPrompt       = acp.AgentMethodSessionPrompt
	methodSetMode      = acp.AgentMethodSessionSetMode
	methodSetConfig    = acp.AgentMethodSessionSetConfigOption
	methodUpdate       = acp.ClientMethodSessionUpdate
	methodPermission   = acp.ClientMethodSessionRequestPermission
)

// opening are the methods that open a session, and so name MCP servers.
var opening = []string{methodNew, methodLoad, methodResume, methodFork}

func opensSession(method string) bool {
	switch method {
	case methodNew, methodLoad, methodResume, methodFork:
		return true
	}
	return false
}

// Quirks is the table, in the order in which the rows apply.
func Quirks() []Quirk {
	return []Quirk{
		{
			Name: "auth-method-id", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "`authenticate` takes `methodId`; sent as `method` it is refused with -32602 (seed)",
			Does:     "renames `method` to `methodId`",
			requests: []string{methodAuthenticate}, down: authMethodID,
		},
		{
			Name: "config-id", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "`session/set_config_option` takes `configId`; `configOptionId` and `optionId` are refused with -32602 (seed)",
			Does:     "renames them to `configId`",
			requests: []string{methodSetConfig}, down: configID,
		},
		{
			Name: "mode-id", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "`session/set_mode` takes `modeId`; `mode` is refused with -32602 (seed)",
			Does:     "renames `mode` to `modeId`",
			requests: []string{methodSetMode}, down: modeID,
		},
		{
			Name: "mode-names", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "the modes are `default`, `auto_edit` and `yolo` (seed); other agents' names for them are refused",
			Does:     "turns `accept-edits` and `acceptEdits` into `auto_edit`, `bypassPermissions` and `dangerously-skip-permissions` into `yolo`",
			requests: []string{methodSetMode, methodSetConfig}, down: modeNames,
		},
		{
			Name: "no-plan-mode", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "there is no mode that only reads (seed), and the bare refusal of `plan` or `read-only` does not say so",
			Does:     "answers with an error that names the modes there are; never picks one that writes",
			requests: []string{methodSetMode, methodSetConfig}, down: noPlanMode,
			answers: opening, back: rememberModes,
		},
		{
			Name: "set-model", Builds: "rc01; others that answer -32601", Direction: BothWays, Default: true,
			Wrong:    "`session/set_model` is not known before 1.1.1 (seed)",
			Does:     "sends `session/set_config_option` for `model` instead, and turns the answer back",
			requests: []string{methodSetModel}, down: setModel,
			answers: []string{methodSetModel}, back: setModelAnswer,
		},
		{
			Name: "mcp-servers-missing", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "`mcpServers` is required to open a session, and some clients leave it out (seed)",
			Does:     "fills it with `[]`",
			requests: opening, down: serversMissing,
		},
		{
			Name: "mcp-entries", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "an entry needs `headers`, or `args` and `env`, as lists of name and value; a map, or none, is refused with -32602 (seed)",
			Does:     "turns maps into lists, fills in `[]`, and takes the missing `type` from the `url`: `sse` if its path ends in `/sse`, else `http`; types it does not know pass",
			requests: opening, down: serverEntries,
		},
		{
			Name: "mcp-names", Builds: "all", Direction: ToAgent, Default: true,
			Wrong:    "a server whose name has a dot in it is refused (report)",
			Does:     "writes `-` for the dots",
			requests: opening, down: serverNames,
		},
		{
			Name: "oracle", Builds: "all", Direction: BothWays, Default: true,
			Wrong:   "a field under another name is refused with -32602 and `data.errors[].loc` names the one that is missing (seed)",
			Does:    "where exactly one field is not known, sends the request once more with that one renamed; never a prompt, never after a later frame of the session; what helped is kept for the build",
			answers: []string{"*"}, back: oracle,
		},
		{
			Name: "leaked-cancel", Builds: "1.1.1 on", Direction: ToClient, Default: true,
			Wrong: "after a cancel the text `context canceledThe request was canceled by the client.` appears as the agent's answer (report)",
			Does:  "drops the chunk, or cuts the sentence off its end",
			says:  []string{methodUpdate}, up: leakedCancel,
		},
		{
			Name: "permission-order", Builds: "1.1.1 on", Direction: ToClient, Default: true,
			Wrong: "`allow_always` is offered before `allow_once` and persists; clients that take the first option that allows would allow for good (report)",
			Does:  "puts the options that allow once first",
			says:  []string{methodPermission}, up: permissionOrder,
		},
		{
			Name: "failed-turn", Builds: "all", Direction: ToClient, Default: true,
			Wrong:    "a turn that failed ends with `end_turn` like any other, its error as text, or with no text at all (seed, report)",
			Does:     "marks the prompt's result with `_meta.acp-shim.failed`: `agent-error`, `usage-limit`, `mcp`, `browser`, `connection` or `blank`",
			requests: []string{methodPrompt}, down: turnBegins,
			says: []string{methodUpdate}, up: turnSays,
			answers: []string{methodPrompt}, back: turnEnds,
		},
		{
			Name: "bricked", Builds: "1.1.1 on", Direction: ToClient, Default: true,
			Wrong: "a conversation whose process was killed in the middle of a checkpoint fails from then on with `could not find doneCh for checkpoint` (report), which tells nobody what to do",
			Does:  "says behind the error which command mends it",
			says:  []string{methodUpdate}, up: brickedText,
			answers: []string{methodLoad, methodResume, methodPrompt}, back: brickedError,
		},
		{
			Name: "noise", Builds: "all", Direction: ToClient, Default: true,
			Wrong: "lines that are no protocol appear on stdout: a login URL, a browser's messages (report)",
			Does:  "keeps them from the client",
		},
		{
			Name: "raw-ws", Builds: "all", Direction: Stderr, Default: true,
			Wrong: "`RAW WS MSG:` dumps of megabytes go to stderr, which clients show (seed)",
			Does:  "leaves these lines out",
		},
		{
			Name: "login-page", Builds: "all", Direction: Beside, Default: true,
			Wrong: "a login hands its address to a browser only; on a machine without one it is seen nowhere (seed), and `authenticate` hangs for minutes",
			Does:  "is `BROWSER` and `xdg-open` to the agent, and passes on to the real ones; where none could be started, the address goes to stderr, and, where nobody can see a browser, into an error that answers `authenticate`",
		},
		{
			Name: "cumulative-resend", Builds: "unknown", Direction: ToClient,
			Wrong:    "a message chunk repeats all text of the turn so far (report)",
			Does:     "cuts such a chunk to what is new",
			requests: []string{methodPrompt}, down: turnBegins,
			says: []string{methodUpdate}, up: cumulativeResend,
		},
		{
			Name: "tool-display", Builds: "all", Direction: ToClient,
			Wrong:    "an MCP tool's input is wrapped in `arguments`, its title is `<server>_<tool>`, its `rawOutput` often a title only (seed)",
			Does:     "opens the envelope, shows the tool's own name, and puts the text of `content` for a `rawOutput` that is only a title",
			requests: []string{methodPrompt}, down: turnBegins,
			says: []string{methodUpdate, methodPermission}, up: toolDisplay,
		},
	}
}

// QuirkTable is the table as Markdown, for the README.
func QuirkTable() string {
	var b strings.Builder
	b.WriteString("| quirk | builds | frames | without it | the shim | by default |\n|---|---|---|---|---|---|\n")
	for _, q := range Quirks() {
		on := "off"
		if q.Default {
			on = "on"
		}
		cell := strings.NewReplacer("|", `\|`)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", q.Name, q.Builds, q.Direction, cell.Replace(q.Wrong), cell.Replace(q.Does), on)
	}
	return b.String()
}

// switches reads a list of NAME=on and NAME=off into what is on.
func switches(list []string) (map[string]bool, error) {
	on := map[string]bool{}
	var names []string
	for _, q := range Quirks() {
		on[q.Name] = q.Default
		names = append(names, q.Name)
	}
	for _, item := range list {
		name, value, _ := strings.Cut(item, "=")
		if _, known := on[name]; !known {
			return nil, fmt.Errorf("there is no quirk %q%s; the quirks are %s", name, nearest(name, names), strings.Join(names, ", "))
		}
		switch value {
		case "on", "true", "1":
			on[name] = true
		case "off", "false", "0":
			on[name] = false
		default:
			return nil, fmt.Errorf("the quirk %s is switched with %s=on or %s=off, not %q", name, name, name, item)
		}
	}
	return on, nil
}

// nearest is a hint at the known name that is nearest to a wrong one.
func nearest(name string, known []string) string {
	type guess struct {
		name string
		far  int
	}
	var list []guess
	for _, k := range known {
		list = append(list, guess{k, distance(name, k)})
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].far < list[j].far })
	if len(list) == 0 || list[0].far > 1+len(name)/2 {
		return ""
	}
	return ", did you mean " + list[0].name + "?"
}

// distance is the number of letters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

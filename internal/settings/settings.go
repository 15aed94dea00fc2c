// Package settings is what a user can set: one table from which flags,
// environment, config file, help and the README's table are read.
//
// It owns names, defaults, bounds and the order of precedence (flags, then the
// environment, then the config file, then defaults), and turns a mistake into a
// sentence that says where it stands and what was probably meant. It must not
// know what the settings do. The path of the drop-in agent parses here, without
// a library, since it is run at every start of an editor's session.
package settings

import "time"

// Settings are all settings, with their defaults replaced by what was set.
type Settings struct {
	// Words is the agent's command, from behind "--"; AgentArgs are the agent's
	// own flags, given to the shim in its place.
	Words, AgentArgs []string
	// Agent is the agent by flag, environment or file; only one of them is used.
	AgentFlag, AgentEnv, AgentFile string

	Profile string
	Quirks  []string

	Bridge, BridgeToken string
	MCP                 []string
	MCPHeaders          []string
	MCPStdio            []string
	MCPConfig           string
	MCPOverride         bool

	Cancel      string
	Grace       time.Duration
	Stall       time.Duration
	StallAction string
	Permissions string

	UsageNormalise string

	Record           string
	RecordRaw        bool
	RecordStrict     bool
	RecordMaxBlob    int // KiB
	RecordRotateSize int // MiB
	RecordRotateAge  time.Duration
	RecordKeepSize   int // MiB
	RecordKeepAge    time.Duration
	RecordCompress   bool

	MaxAgents   int
	Standby     string
	IdleTimeout time.Duration
	Remember    bool
	PrivateTemp bool
	MaxFrame    int // MiB
	StateDir    string

	LogFile, LogLevel, LogFormat string
	Verbose                      bool

	// Config is the config file that was read, "" for none; Rules is the text
	// of its member rules.
	Config string
	Rules  []byte
	// Unread is why the config file that is looked for could not be read, where
	// that stops nobody: it may be another user's.
	Unread error
	// ConfigText is the file's text.
	ConfigText []byte

	source map[string]string // of each setting that was set, who did
}

type kind uint8

const (
	text kind = iota
	flag
	choice
	list
	number
	duration
)

// Row is one setting.
type Row struct {
	// Name is its name as a flag and in the config file; the variable is
	// ACP_SHIM_ and the same in capitals.
	Name string
	// Value shows what to write: "URL", "auto|native|emulate".
	Value   string
	Default string
	Help    string
	// Secret marks a value that must not be shown.
	Secret bool

	env      string // the variable, where it is called otherwise
	kind     kind
	values   []string
	min, max int
	at       func(s *Settings) any
	fileAt   func(s *Settings) any // where it differs by source
	envAt    func(s *Settings) any
}

// Rows is the table, in the order of the help.
func Rows() []Row {
	return []Row{
		{Name: "agent", Value: "PATH|COMMAND", Default: "searched", kind: text, Help: "the agent to start, when its words do not stand behind --",
			at:     func(s *Settings) any { return &s.AgentFlag },
			envAt:  func(s *Settings) any { return &s.AgentEnv },
			fileAt: func(s *Settings) any { return &s.AgentFile }},
		{Name: "profile", Default: "auto", kind: choice, values: []string{"auto", "agy", "none"}, Help: "which quirks apply: those of the Antigravity server, none, or by what the agent says it is",
			at: func(s *Settings) any { return &s.Profile }},
		{Name: "quirk", Value: "NAME=on|off", kind: list, Help: "switch one quirk by its name",
			at: func(s *Settings) any { return &s.Quirks }},
		{Name: "bridge", env: "ACP_SHIM_BRIDGE_URL", Value: "URL", kind: text, Help: "inject the MCP server pi-bridge at this url",
			at: func(s *Settings) any { return &s.Bridge }},
		{Name: "bridge-token", Value: "TOKEN|env:VAR|file:PATH", kind: text, Secret: true, Help: "its x-bridge-token header",
			at: func(s *Settings) any { return &s.BridgeToken }},
		{Name: "mcp", Value: "NAME=URL", kind: list, Help: "inject an MCP server that speaks http",
			at: func(s *Settings) any { return &s.MCP }},
		{Name: "mcp-header", Value: "NAME:KEY=VALUE", kind: list, Secret: true, Help: "a header for one of them; VALUE may be env:VAR or file:PATH",
			at: func(s *Settings) any { return &s.MCPHeaders }},
		{Name: "mcp-stdio", Value: "NAME=COMMAND", kind: list, Help: "inject an MCP server that the agent starts",
			at: func(s *Settings) any { return &s.MCPStdio }},
		{Name: "mcp-config", Value: "FILE", kind: text, Help: "inject the MCP servers of a file, and follow its changes",
			at: func(s *Settings) any { return &s.MCPConfig }},
		{Name: "mcp-override", kind: flag, Default: "off", Help: "an injected server wins over one of the client's with its name",
			at: func(s *Settings) any { return &s.MCPOverride }},
		{Name: "cancel", Default: "auto", kind: choice, values: []string{"auto", "native", "emulate"}, Help: "ask and then replace the process, only ask, or replace it at once",
			at: func(s *Settings) any { return &s.Cancel }},
		{Name: "cancel-grace", Value: "DURATION", Default: "1s", kind: duration, min: 1, max: 600_000, Help: "how long the agent has to honour a cancel",
			at: func(s *Settings) any { return &s.Grace }},
		{Name: "stall-timeout", Value: "DURATION", Default: "0", kind: duration, min: 0, max: 366 * 24 * 3600 * 1000, Help: "how long a turn may be silent while it waits for nothing of the client's; 0 for ever",
			at: func(s *Settings) any { return &s.Stall }},
		{Name: "stall-action", Default: "log", kind: choice, values: []string{"log", "settle", "recycle"}, Help: "what becomes of such a turn: a line in the log, taken as ended, or ended with its process",
			at: func(s *Settings) any { return &s.StallAction }},
		{Name: "permissions", Default: "ask", kind: choice, values: []string{"ask", "allow", "deny"}, Help: "let the client answer permission requests, or answer them in its place",
			at: func(s *Settings) any { return &s.Permissions }},
		{Name: "usage-normalise", Default: "auto", kind: choice, values: []string{"auto", "on", "off"}, Help: "add ACP's own fields to a prompt's result where an agent reports tokens only in a place of its own; auto does so with the profile agy",
			at: func(s *Settings) any { return &s.UsageNormalise }},
		{Name: "record", Value: "FILE|DIR", kind: text, Help: "write a capture of the traffic, secrets replaced",
			at: func(s *Settings) any { return &s.Record }},
		{Name: "record-raw", kind: flag, Default: "off", Help: "leave secrets in the capture",
			at: func(s *Settings) any { return &s.RecordRaw }},
		{Name: "record-strict", kind: flag, Default: "off", Help: "end everything, with exit code 74, when a frame cannot be recorded; otherwise the traffic goes on and the capture says what is missing",
			at: func(s *Settings) any { return &s.RecordStrict }},
		{Name: "record-max-blob", Value: "KIB", Default: "64", kind: number, min: 0, max: 1 << 20, Help: "replace longer base64, as of pictures, by its length, hash and type; 0 keeps all",
			at: func(s *Settings) any { return &s.RecordMaxBlob }},
		{Name: "record-rotate-size", Value: "MIB", Default: "0", kind: number, min: 0, max: 1 << 20, Help: "go on in a new file when one has that size; 0 never",
			at: func(s *Settings) any { return &s.RecordRotateSize }},
		{Name: "record-rotate-age", Value: "DURATION", Default: "0", kind: duration, min: 0, max: 366 * 24 * 3600 * 1000, Help: "go on in a new file when one is that old; 0 never",
			at: func(s *Settings) any { return &s.RecordRotateAge }},
		{Name: "record-keep-size", Value: "MIB", Default: "0", kind: number, min: 0, max: 1 << 30, Help: "remove the oldest captures of the directory when they take more; 0 keeps all",
			at: func(s *Settings) any { return &s.RecordKeepSize }},
		{Name: "record-keep-age", Value: "DURATION", Default: "0", kind: duration, min: 0, max: 100 * 366 * 24 * 3600 * 1000, Help: "remove captures of the directory that nobody has written to for that long; 0 keeps all",
			at: func(s *Settings) any { return &s.RecordKeepAge }},
		{Name: "record-compress", kind: flag, Default: "on", Help: "compress the captures of a directory, with zstd, once they are closed",
			at: func(s *Settings) any { return &s.RecordCompress }},
		{Name: "max-agents", Value: "N", Default: "6", kind: number, min: 1, max: 1000, Help: "agent processes at a time",
			at: func(s *Settings) any { return &s.MaxAgents }},
		{Name: "standby", Default: "auto", kind: choice, values: []string{"auto", "off"}, Help: "keep one process started once one would have been of use",
			at: func(s *Settings) any { return &s.Standby }},
		{Name: "idle-timeout", Value: "DURATION", Default: "1h", kind: duration, min: 0, max: 366 * 24 * 3600 * 1000, Help: "end a process that was not used for that long; its session is loaded again on its next use; 0 never",
			at: func(s *Settings) any { return &s.IdleTimeout }},
		{Name: "remember", kind: flag, Default: "on", Help: "give a session that is loaded in a later run its model and mode back",
			at: func(s *Settings) any { return &s.Remember }},
		{Name: "private-temp", kind: flag, Default: "off", Help: "give each agent process a temporary directory of its own, removed with it (always on Windows)",
			at: func(s *Settings) any { return &s.PrivateTemp }},
		{Name: "max-frame", Value: "MIB", Default: "256", kind: number, min: 1, max: 1024, Help: "the longest line that is passed on",
			at: func(s *Settings) any { return &s.MaxFrame }},
		{Name: "state-dir", Value: "DIR", kind: text, Default: "$XDG_STATE_HOME/acp-shim", Help: "where locks, remembered settings and the log are kept",
			at: func(s *Settings) any { return &s.StateDir }},
		{Name: "log-file", Value: "FILE", kind: text, Default: "in the state directory", Help: "where the log goes; none writes no file",
			at: func(s *Settings) any { return &s.LogFile }},
		{Name: "log-level", Default: "info", kind: choice, values: []string{"debug", "info", "warn", "error"}, Help: "the least level that is logged",
			at: func(s *Settings) any { return &s.LogLevel }},
		{Name: "log-format", Default: "text", kind: choice, values: []string{"text", "json"}, Help: "how the log file is written",
			at: func(s *Settings) any { return &s.LogFormat }},
		{Name: "verbose", kind: flag, Default: "off", Help: "also log to stderr, which is silent otherwise unless something is wrong (-v)",
			at: func(s *Settings) any { return &s.Verbose }},
		{Name: "config", Value: "FILE", kind: text, Default: "$XDG_CONFIG_HOME/acp-shim/config.json", Help: "the config file; comments are allowed in it",
			at: func(s *Settings) any { return &s.Config }},
	}
}

// Values shows what to write for a row.
func (r Row) Values() string {
	switch r.kind {
	case choice:
		return join(r.values, "|")
	case flag:
		return "on|off"
	}
	return r.Value
}

// Env is the row's variable.
func (r Row) Env() string {
	if r.env != "" {
		return r.env
	}
	return "ACP_SHIM_" + upper(r.Name)
}

// Many tells that the row may be given more than once.
func (r Row) Many() bool { return r.kind == list }

// defaults are the settings before anything is read.
func defaults() *Settings {
	return &Settings{
		Profile: "auto", Cancel: "auto", Grace: time.Second, StallAction: "log", Permissions: "ask", UsageNormalise: "auto", MaxAgents: 6, Standby: "auto",
		IdleTimeout: time.Hour, Remember: true, MaxFrame: 256, RecordMaxBlob: 64, RecordCompress: true, LogLevel: "info", LogFormat: "text",
	}
}

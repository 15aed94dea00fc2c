package compare

import (
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/trace"
	"acp-shim/proxy"
	"acp-shim/usage"
)

// Shape is what is compared of a capture. It is filled by Add.
type Shape struct {
	// facts are single values by their path: the agent's name, its capabilities.
	facts map[string]string
	// sets are what was seen under a name: methods, values of an enumeration.
	sets map[string]map[string]bool
	// fields are the types of each member of each kind of frame.
	fields map[string]map[string]map[string]bool
	// requests is the order of the client's requests, turns the order of updates in
	// each turn.
	requests []string
	turns    [][]string
	times    map[string]*sample
	usage    bool

	open map[*trace.Origin]int // the turn that a prompt is
}

const (
	maxRequests = 5_000
	maxTurns    = 1_000
	maxUpdates  = 1_000
	maxFields   = 20_000
	maxDepth    = 12
)

// NewShape is that of a capture of which nothing was read.
func NewShape() *Shape {
	return &Shape{
		facts: map[string]string{}, sets: map[string]map[string]bool{}, fields: map[string]map[string]map[string]bool{},
		times: map[string]*sample{}, open: map[*trace.Origin]int{},
	}
}

// Add takes the next record.
func (s *Shape) Add(r *trace.Record) {
	if r.Kind == trace.Header {
		s.open = map[*trace.Origin]int{}
		return
	}
	if r.Kind == trace.Event || r.Kind == trace.Other || r.From == proxy.Shim || r.Again {
		return
	}
	side := "client"
	if r.From.Gen() > 0 {
		side = "agent"
	}
	body := gjson.ParseBytes(r.Received())
	name := r.Method
	if r.Update != "" {
		name += " " + r.Update
	}
	switch r.Kind {
	case trace.Request, trace.Notification:
		s.see(side+" sends", name)
		s.shape(side+" "+name, body.Get("params"))
		if side == "client" && len(s.requests) < maxRequests {
			s.requests = append(s.requests, r.Method)
		}
		s.update(r, body)
	case trace.Response:
		if r.Request == nil {
			return
		}
		if r.Failed {
			s.see("errors of "+r.Method, body.Get("error.code").Raw)
			s.shape(side+" error of "+r.Method, body.Get("error"))
			return
		}
		s.shape(side+" result of "+r.Method, body.Get("result"))
		s.result(r, body.Get("result"))
	}
}

func (s *Shape) see(set, value string) {
	if s.sets[set] == nil {
		s.sets[set] = map[string]bool{}
	}
	if len(s.sets[set]) < maxFields {
		s.sets[set][value] = true
	}
}

func (s *Shape) update(r *trace.Record, body gjson.Result) {
	if r.Kind == trace.Request && r.Method == acp.ClientMethodSessionRequestPermission {
		body.Get("params.options").ForEach(func(_, o gjson.Result) bool {
			s.see("permission options", o.Get("kind").Str)
			return true
		})
	}
	if r.Update == "" {
		return
	}
	u := body.Get("params.update")
	for _, name := range []string{"kind", "status"} {
		if v := u.Get(name); v.Type == gjson.String && strings.HasPrefix(r.Update, "tool_call") {
			s.see("tool "+name, v.Str)
		}
	}
	s.usage = s.usage || r.Update == "usage_update" || len(usage.Find(u)) > 0
	if r.Replayed || r.Prompt == nil {
		return
	}
	at, ok := s.open[r.Prompt]
	if !ok {
		if len(s.turns) >= maxTurns {
			return
		}
		at = len(s.turns)
		s.open[r.Prompt] = at
		s.turns = append(s.turns, nil)
	}
	turn := s.turns[at]
	if n := len(turn); n < maxUpdates && (n == 0 || turn[n-1] != r.Update) {
		s.turns[at] = append(turn, r.Update)
	}
}

func (s *Shape) result(r *trace.Record, result gjson.Result) {
	if r.From.Gen() == 0 {
		return // how long a client takes is its user's
	}
	t := s.times[r.Method]
	if t == nil {
		t = &sample{}
		s.times[r.Method] = t
	}
	t.add(r.Took)
	s.usage = s.usage || len(usage.Find(result)) > 0
	switch r.Method {
	case acp.AgentMethodInitialize:
		s.flatten("protocolVersion", result.Get("protocolVersion"), 0)
		s.flatten("agentInfo", result.Get("agentInfo"), 0)
		s.flatten("agentCapabilities", result.Get("agentCapabilities"), 0)
		result.Get("authMethods").ForEach(func(_, m gjson.Result) bool {
			s.see("authMethods", m.Get("id").Str)
			return true
		})
	case acp.AgentMethodSessionPrompt:
		s.see("stop reasons", result.Get("stopReason").Str)
		delete(s.open, r.Request)
	}
	for set, path := range map[string]string{
		"modes": "modes.availableModes.#.id", "models": "models.availableModels.#.modelId", "config options": "configOptions.#.id",
	} {
		result.Get(path).ForEach(func(_, v gjson.Result) bool {
			s.see(set, v.String())
			return true
		})
	}
	result.Get("configOptions").ForEach(func(_, o gjson.Result) bool {
		o.Get("options").ForEach(func(_, v gjson.Result) bool {
			s.see("values of "+o.Get("id").Str, v.Get("value").String())
			return true
		})
		return true
	})
}

// flatten keeps the values below v by their paths.
func (s *Shape) flatten(path string, v gjson.Result, depth int) {
	if !v.Exists() || depth > maxDepth || len(s.facts) > maxFields {
		return
	}
	if !v.IsObject() {
		s.facts[path] = v.Raw
		return
	}
	empty := true
	v.ForEach(func(key, x gjson.Result) bool {
		empty = false
		s.flatten(path+"."+key.Str, x, depth+1)
		return true
	})
	if empty {
		s.facts[path] = "{}"
	}
}

// shape keeps the types of all members below v.
func (s *Shape) shape(frame string, v gjson.Result) {
	if s.fields[frame] == nil {
		s.fields[frame] = map[string]map[string]bool{}
	}
	s.members(s.fields[frame], "", v, 0)
}

func (s *Shape) members(into map[string]map[string]bool, path string, v gjson.Result, depth int) {
	if depth > maxDepth || len(into) > maxFields {
		return
	}
	if path != "" {
		if into[path] == nil {
			into[path] = map[string]bool{}
		}
		into[path][typeOf(v)] = true
	}
	if !v.IsObject() && !v.IsArray() {
		return
	}
	v.ForEach(func(key, x gjson.Result) bool {
		name := "*"
		if v.IsObject() {
			name = key.Str
		}
		if path != "" {
			name = path + "." + name
		}
		// What a tool is given and gives is the tool's own.
		if !strings.HasSuffix(name, "rawInput") && !strings.HasSuffix(name, "rawOutput") {
			s.members(into, name, x, depth+1)
		}
		return true
	})
}

func typeOf(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "object"
	case v.IsArray():
		return "list"
	case v.Type == gjson.String:
		return "string"
	case v.Type == gjson.Number:
		return "number"
	case v.Type == gjson.Null:
		return "null"
	}
	return "boolean"
}

// sample is a bounded choice of durations, each with the same chance to be in it.
type sample struct {
	n    int
	kept []time.Duration
}

const sampleSize = 1_000

func (s *sample) add(d time.Duration) {
	s.n++
	if len(s.kept) < sampleSize {
		s.kept = append(s.kept, d)
	} else if i := rand.IntN(s.n); i < sampleSize {
		s.kept[i] = d
	}
}

func (s *sample) median() time.Duration {
	sort.Slice(s.kept, func(i, j int) bool { return s.kept[i] < s.kept[j] })
	return s.kept[len(s.kept)/2]
}

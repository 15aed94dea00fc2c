package probe

import (
	"os"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// choice is something that can be chosen in a session: its model, its mode.
type choice struct {
	id      string // of the config option, or the word model or mode
	current string
	values  []string
	// option tells that it is one of configOptions.
	option bool
}

// other is a value that is not the current one, "" where there is none.
func (c choice) other() string {
	for i, v := range c.values {
		if v == c.current && i+1 < len(c.values) {
			return c.values[i+1]
		}
	}
	for _, v := range c.values {
		if v != c.current {
			return v
		}
	}
	return ""
}

// choices are those of a session, as the answer that opened it has them.
type choices struct{ model, mode choice }

// of is the one of them by its name, model or mode.
func (c choices) of(what string) choice {
	if what == "model" {
		return c.model
	}
	return c.mode
}

// choicesOf reads configOptions, and where one is not among them, the older
// models and modes. A config option is known by its category; ACP has it as
// optional (agentclientprotocol.com/protocol/session-config-options), so that its
// id will do.
func choicesOf(opened gjson.Result) choices {
	var c choices
	for _, o := range opened.Get("configOptions").Array() {
		kind := o.Get("category").Str
		if kind == "" {
			kind = o.Get("id").Str
		}
		switch {
		case kind == "model" && c.model.id == "":
			c.model = optionOf(o)
		case kind == "mode" && c.mode.id == "":
			c.mode = optionOf(o)
		}
	}
	if c.model.id == "" {
		c.model = listOf("model", opened.Get("models.availableModels.#.modelId"), opened.Get("models.currentModelId"))
	}
	if c.mode.id == "" {
		c.mode = listOf("mode", opened.Get("modes.availableModes.#.id"), opened.Get("modes.currentModeId"))
	}
	return c
}

func optionOf(o gjson.Result) choice {
	c := choice{id: o.Get("id").Str, current: o.Get("currentValue").Str, option: true}
	for _, v := range o.Get("options").Array() {
		// Options may stand in groups.
		if group := v.Get("options"); group.IsArray() {
			for _, v := range group.Array() {
				c.values = append(c.values, v.Get("value").Str)
			}
			continue
		}
		c.values = append(c.values, v.Get("value").Str)
	}
	return c
}

func listOf(name string, values, current gjson.Result) choice {
	c := choice{current: current.Str}
	for _, v := range values.Array() {
		c.values = append(c.values, v.Str)
	}
	if len(c.values) > 0 {
		c.id = name
	}
	return c
}

// setOption, setModel and setMode are the params of the ways to choose.
func setOption(session, id, value string) string {
	return `{"sessionId":` + wire.Quote(session) + `,"configId":` + wire.Quote(id) + `,"value":` + wire.Quote(value) + `}`
}

func setModel(session, value string) string {
	return `{"sessionId":` + wire.Quote(session) + `,"modelId":` + wire.Quote(value) + `}`
}

func setMode(session, value string) string {
	return `{"sessionId":` + wire.Quote(session) + `,"modeId":` + wire.Quote(value) + `}`
}

// environ is the environment that the agent gets.
func (r *run) environ() []string {
	if r.opt.Env != nil {
		return r.opt.Env
	}
	return os.Environ()
}

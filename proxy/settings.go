package proxy

import (
	"bytes"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// showSettings makes the answer to a load show what has been set since: the
// agent wrote it before.
func showSettings(m *Message, options string, config []Setting) {
	if at, ok := m.At(m.Result, "configOptions"); ok && options != "" {
		m.Set(at, options)
	}
	for _, x := range config {
		value := gjson.Get(x.Params, valueName(x.Method))
		if value.Type != gjson.String {
			continue
		}
		text := wire.Quote(value.Str)
		showOption(m, x.Key, text)
		switch x.Key {
		case "mode":
			showCurrent(m, "modes", "currentModeId", text)
		case "model":
			showCurrent(m, "models", "currentModelId", text)
		}
	}
}

// valueName is where a setting's params have its value.
func valueName(method string) string {
	switch method {
	case mSetMode:
		return "modeId"
	case mSetModel:
		return "modelId"
	}
	return "value"
}

// showCurrent sets what a list of modes or models calls its current one, if the
// list has it.
func showCurrent(m *Message, list, name, value string) {
	all, ok := m.At(m.Result, list)
	if !ok || !bytes.Contains(m.Text(all), []byte(value)) {
		return
	}
	if at, ok := m.At(all, name); ok {
		m.Set(at, value)
	}
}

// showOption sets the value of the config option with this id, if it is one that
// can be chosen.
func showOption(m *Message, id, value string) {
	list, ok := m.At(m.Result, "configOptions")
	if !ok {
		return
	}
	for _, option := range m.Elements(list) {
		name, ok := m.At(option, "id")
		if !ok || m.String(name) != id {
			continue
		}
		at, ok := m.At(option, "currentValue")
		if choices, has := m.At(option, "options"); ok && (!has || bytes.Contains(m.Text(choices), []byte(value))) {
			m.Set(at, value)
		}
		return
	}
}

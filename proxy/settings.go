package proxy

import (
	"bytes"
	"log/slog"

	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// configure sets again what the client had set, in the order in which it was
// last set: the agent forgets it with its process.
func (c *Core) configure(s *Session) {
	s.state = Restoring
	s.restore.sent = true
	for _, x := range s.config {
		params := &Message{}
		params.Parse([]byte(`{"method":"x","params":` + x.Params + `}`))
		if params.SessionText.Found() {
			params.Set(params.SessionText, wire.Quote(s.id))
		}
		s.restore.setting++
		var sent *Message
		sent = c.ask(s.agent, s, x.Method, string(params.Text(params.Params)), func(m *Message, failure string) {
			c.setAgain(s, x.Key, sent, m, failure)
		})
	}
	if s.restore.setting == 0 {
		c.live(s)
	} else {
		c.fx.arm(timerKey{kind: timerLoad, name: s.id}, loadLimit)
	}
}

// setAgain takes the answer to a setting that was sent again.
func (c *Core) setAgain(s *Session, key string, sent, m *Message, failure string) {
	if s.state != Restoring || failure != "" {
		return
	}
	s.restore.setting--
	if m.Result.Found() {
		if options := optionsOf(m); options != "" {
			s.restore.options = options
		}
		s.restore.shown = append(s.restore.shown, Setting{Key: key, Method: sent.Method, Params: string(sent.Text(sent.Params))})
	} else {
		s.restore.refused = true
		c.fx.log(slog.LevelWarn, "a setting could not be given back to a session", "session", s.id, "setting", key,
			"reason", gjson.GetBytes(m.Text(m.Error), "message").Str)
	}
	if s.restore.setting > 0 {
		return
	}
	c.fx.disarm(timerKey{kind: timerLoad, name: s.id})
	c.live(s)
}

// live is the end of every way back: the session is held by its process, and
// what waits goes out.
func (c *Core) live(s *Session) {
	re := s.restore
	s.restore = restore{}
	s.state = Idle
	if re.answer != nil {
		s.blank = false
		showSettings(re.answer, re.options, re.shown)
		c.beforeAnswer(s.agent, re.asked, re.answer)
		if c.pass(s.agent, re.answer, re.asked, nil) {
			c.closeRequest(re.asked)
		}
		s.open = append([]byte(nil), re.asked.orig...)
		c.keep(s)
	} else if re.refused && re.options != "" {
		c.shimToClient(Notice(mUpdate, Object("sessionId", s.id, "update.sessionUpdate", "config_option_update",
			"update.configOptions", Raw(shownOptions(re.options, re.shown)))), "settings after a restore")
	}
	if a := s.agent; a.stale != "" {
		// It was loaded in a process that knows nothing of a new login.
		pace := soft
		if len(s.queue) > 0 {
			pace = hard
		}
		c.condemn(a, a.stale, pace)
		return
	}
	c.keepStandby()
	c.pump(s)
	c.settleIfIdle(s)
	c.settled()
}

// optionsOf is the list of config options that an answer has, "" if it has none.
func optionsOf(m *Message) string {
	if options := gjson.GetBytes(m.Text(m.Result), "configOptions"); options.IsArray() {
		return options.Raw
	}
	return ""
}

// shownOptions is a list of config options with the settings in it that the
// agent has taken since it wrote the list.
func shownOptions(options string, config []Setting) string {
	var m Message
	m.Parse([]byte(`{"id":0,"result":{"configOptions":` + options + `}}`))
	showSettings(&m, "", config)
	return optionsOf(&m)
}

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

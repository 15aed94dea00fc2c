package rewrite

import (
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
	"acp-shim/proxy"
)

// rc01 is the build that is known to have no session/set_model.
const rc01 = "agy_acp_server_20260818_01_RC01"

// setModel sends session/set_config_option where the agent lacks set_model.
func setModel(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	b := build(s)
	if b == rc01 || r.noModel[b] {
		if toConfigOption(m) {
			s.Request().Mark(markModel, true)
		}
		return
	}
	if !s.Own() && len(m.Raw) <= keepLimit {
		s.Request().Keep() // to send it in the other form if it is not known
	}
}

// toConfigOption turns a session/set_model into the setting of the option.
func toConfigOption(m *proxy.Message) bool {
	if !m.Object() {
		return false
	}
	method, ok := m.Member(whole(m), "method")
	if !ok {
		return false
	}
	list := m.Members(m.Params)
	model, ok := member(list, "modelId")
	if !ok || has(list, "configId") || has(list, "value") {
		return false
	}
	var p patch
	p.put(method.Value, wire.Quote(methodSetConfig))
	p.rename(model, "value")
	p.add(m.Params, list, `"configId":"model"`)
	return p.apply(m)
}

// setModelAnswer turns the answer to the option's setting back, or learns that
// there is no set_model.
func setModelAnswer(r *Rewriter, s *proxy.Step, m *proxy.Message) {
	req := s.Request()
	switch {
	case m.Result.Found() && req.Marked(markModel) != nil:
		m.Set(m.Result, "{}")
	case m.Error.Found() && req.Marked(markModel) == nil && req.Marked(markResent) == nil && req.Sent() != nil:
		if gjson.GetBytes(m.Text(m.Error), "code").Int() != codeMethodNotFound {
			return
		}
		b := build(s)
		r.noModel[b] = true
		info(s, "this build has no session/set_model; session/set_config_option is sent instead", "build", b)
		if !req.Latest() {
			return
		}
		var again proxy.Message
		again.Parse(append([]byte(nil), req.Sent()...))
		if toConfigOption(&again) {
			req.Mark(markModel, true)
			req.Mark(markResent, true)
			s.Resend(again.Raw, "the agent has no session/set_model")
		}
	}
}

package proxy_test

import (
	"fmt"
	"sort"

	"github.com/tidwall/gjson"
)

// The client of the random schedules.

func (o *oracle) client(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	o.note("client> %s", line)
	o.w.Client(line)
}

// request sends a request of the client's; %s of params is a session.
func (o *oracle) request(method, params string) string {
	o.nextID++
	id := fmt.Sprint(o.nextID)
	o.open[id] = method
	s := gjson.Get(params, "sessionId").Str
	o.prompts[id] = s
	switch method {
	case "session/load", "session/resume":
		o.mine[s] = true
	case "session/prompt":
		o.strays[id] = !o.mine[s]
	}
	o.client(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
	return id
}

// beginning tells that an initialize of the client's has no answer yet. What a
// client sends before it has asked for one is a plain relay's.
func (o *oracle) beginning() bool {
	for _, method := range o.open {
		if method == "initialize" {
			return true
		}
	}
	return false
}

func (o *oracle) session() string {
	// The newest are the likeliest, so that three or so are busy.
	return o.known[max(0, len(o.known)-1-o.IntN(4))]
}

func (o *oracle) clientEvent() {
	if !o.begun && !o.beginning() {
		o.request("initialize", `{"protocolVersion":1}`)
		return
	}
	s := o.session()
	named := fmt.Sprintf(`{"sessionId":%q}`, s)
	switch o.IntN(20) {
	case 0, 1:
		o.request("session/new", `{"cwd":"/w","mcpServers":[]}`)
	case 2, 3:
		o.request([]string{"session/load", "session/load", "session/resume"}[o.IntN(3)], fmt.Sprintf(`{"sessionId":%q,"cwd":"/w"}`, s))
	case 4, 5, 6, 7, 8:
		o.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[]}`, s))
	case 9, 10:
		o.client(`{"jsonrpc":"2.0","method":"session/cancel","params":%s}`, named)
	case 11:
		o.request("session/cancel", named)
	case 12:
		if ids := keys(o.open); len(ids) > 0 {
			o.client(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%s}}`, ids[o.IntN(len(ids))])
		}
	case 13:
		o.request("session/set_mode", fmt.Sprintf(`{"sessionId":%q,"modeId":"yolo"}`, s))
	case 14:
		o.request("session/close", named)
	case 15:
		if o.IntN(3) == 0 {
			o.request("session/delete", named)
		}
	case 16:
		o.request([]string{"session/list", "authenticate", "initialize", "_x/y"}[o.IntN(4)], `{"methodId":"m"}`)
	case 17, 18:
		o.clientAnswer()
	case 19:
		if o.IntN(3) == 0 {
			o.client("%s", []string{"", "noise", `{"half`, `{"jsonrpc":"2.0","id":77777,"result":{}}`, `[]`}[o.IntN(5)])
		}
	}
}

func (o *oracle) clientAnswer() {
	if ids := keys(o.asked); len(ids) > 0 {
		id := ids[o.IntN(len(ids))]
		delete(o.asked, id)
		o.client(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	}
}

func keys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	sort.Strings(list)
	return list
}

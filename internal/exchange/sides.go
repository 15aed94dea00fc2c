package exchange

import (
	"strings"

	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"

	"acp-shim/internal/wire"
)

// sides infers who sent a message: a request or a notification by its method, a
// response by its request.
type sides struct {
	open map[asked]bool
}

type asked struct {
	by Side
	id string
}

// maxOpen bounds the requests without an answer that are remembered.
const maxOpen = 1 << 16

// see remembers what a message means for the ones to come.
func (s *sides) see(m *wire.Message, from Side) {
	key := asked{from, string(m.Text(m.ID))}
	switch m.Kind {
	case wire.Request:
		if len(s.open) < maxOpen {
			s.open[key] = true
		}
	case wire.Response:
		key.by = Agent - from
		delete(s.open, key)
	}
}

func (s *sides) of(m *wire.Message) Side {
	switch m.Kind {
	case wire.Request, wire.Notification:
		switch {
		case m.Method == "$/cancel_request":
			id := gjson.GetBytes(m.Text(m.Params), "requestId").Raw
			if s.open[asked{Agent, id}] && !s.open[asked{Client, id}] {
				return Agent
			}
			return Client
		case agentSends(m.Method):
			return Agent
		case clientSends(m.Method) || m.Kind == wire.Request:
			return Client
		}
		return Agent // a notification that nobody knows: agents have many
	case wire.Response:
		id := string(m.Text(m.ID))
		byClient, byAgent := s.open[asked{Client, id}], s.open[asked{Agent, id}]
		result := gjson.ParseBytes(m.Text(m.Result))
		// Both count their requests from 0 or 1. What only a client answers tells,
		// then; and so it does where the question was not recorded.
		if byAgent && !byClient || byAgent == byClient && answersAgent(result) {
			return Client
		}
	}
	return Agent
}

// answersAgent tells results that only a client gives: of a permission, a file, a
// terminal.
func answersAgent(result gjson.Result) bool {
	for _, key := range []string{"outcome", "terminalId", "exitStatus"} {
		if result.Get(key).Exists() {
			return true
		}
	}
	return result.Get("content").Type == gjson.String
}

// agentSends tells the methods that a client carries out, by the schema's sides; those
// that it has not yet by their family.
func agentSends(method string) bool {
	switch method {
	case acp.ClientMethodSessionUpdate, acp.ClientMethodSessionRequestPermission,
		acp.ClientMethodMcpConnect, acp.ClientMethodMcpDisconnect:
		return true
	}
	for _, family := range []string{"fs/", "terminal/", "elicitation/"} {
		if strings.HasPrefix(method, family) {
			return true
		}
	}
	return false
}

// clientSends tells the methods that an agent carries out.
func clientSends(method string) bool {
	switch method {
	case acp.AgentMethodInitialize, acp.AgentMethodAuthenticate, acp.AgentMethodLogout:
		return true
	}
	for _, family := range []string{"session/", "document/", "nes/", "providers/"} {
		if strings.HasPrefix(method, family) {
			return true
		}
	}
	return false
}

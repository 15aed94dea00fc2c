package proxy

import (
	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/sjson"
)

// The methods that the core decides by. set_model left the schema and is still
// sent; $/cancel_request is JSON-RPC's, after the Language Server Protocol.
const (
	mInitialize    = acp.AgentMethodInitialize
	mAuthenticate  = acp.AgentMethodAuthenticate
	mLogout        = acp.AgentMethodLogout
	mNew           = acp.AgentMethodSessionNew
	mLoad          = acp.AgentMethodSessionLoad
	mResume        = acp.AgentMethodSessionResume
	mFork          = acp.AgentMethodSessionFork
	mClose         = acp.AgentMethodSessionClose
	mDelete        = acp.AgentMethodSessionDelete
	mList          = acp.AgentMethodSessionList
	mPrompt        = acp.AgentMethodSessionPrompt
	mCancel        = acp.AgentMethodSessionCancel
	mSetMode       = acp.AgentMethodSessionSetMode
	mSetConfig     = acp.AgentMethodSessionSetConfigOption
	mSetModel      = "session/set_model"
	mUpdate        = acp.ClientMethodSessionUpdate
	mCancelRequest = "$/cancel_request"
)

// JSON-RPC and ACP error codes that the shim answers with. It never makes a
// -32000, which clients read as "log in".
const (
	CodeInternal  = -32603
	CodeCancelled = -32800
)

// ErrorBody is the text of an error member. data is marshalled; nil gives null,
// since agy's error objects always carry data.
func ErrorBody(code int, message string, data any) string {
	return `"error":` + jsonText(struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data"`
	}{code, message, data})
}

// ResultBody is the text of a result member; result is JSON text.
func ResultBody(result string) string { return `"result":` + result }

func response(id []byte, body string) []byte {
	b := make([]byte, 0, len(id)+len(body)+32)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, ',')
	b = append(b, body...)
	return append(b, '}', '\n')
}

// Raw is a value that is JSON text already.
type Raw string

// Object builds the text of a small object from names and values. A dot in a
// name leads into an object within it.
func Object(pairs ...any) string {
	text := "{}"
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].(string)
		var err error
		if raw, ok := pairs[i+1].(Raw); ok {
			text, err = sjson.SetRaw(text, name, string(raw))
		} else {
			text, err = sjson.Set(text, name, pairs[i+1])
		}
		if err != nil {
			panic(err) // a name that is no path: a mistake in the code
		}
	}
	return text
}

// Notice is the line of a notification; params is JSON text.
func Notice(method, params string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":` + jsonText(method) + `,"params":` + params + "}\n")
}

func call(id, method, params string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":` + jsonText(method) + `,"params":` + params + "}\n")
}

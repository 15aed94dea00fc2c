package usage

import (
	acp "github.com/coder/acp-go-sdk"
	"github.com/tidwall/gjson"
)

const methodSetModel = "session/set_model" // left the schema, and is still sent

// SetsModel tells the methods whose answers say which model a session has, or
// confirm it.
func SetsModel(method string) bool {
	switch method {
	case acp.AgentMethodSessionNew, acp.AgentMethodSessionLoad, acp.AgentMethodSessionResume, acp.AgentMethodSessionFork,
		acp.AgentMethodSessionSetConfigOption, methodSetModel:
		return true
	}
	return false
}

// ModelSet is the model that a request of the client's sets, "" for none.
func ModelSet(method string, params []byte) string {
	switch method {
	case methodSetModel:
		return gjson.GetBytes(params, "modelId").Str
	case acp.AgentMethodSessionSetConfigOption:
		for _, name := range []string{"configId", "configOptionId", "optionId"} {
			if gjson.GetBytes(params, name).Str == "model" {
				return gjson.GetBytes(params, "value").Str
			}
		}
	}
	return ""
}

// ModelIn is the current model by the result of a request that opens a session or
// sets one of its options, "" where it does not say.
func ModelIn(result []byte) string {
	if m := gjson.GetBytes(result, "models.currentModelId").Str; m != "" {
		return m
	}
	model := ""
	gjson.GetBytes(result, "configOptions").ForEach(func(_, o gjson.Result) bool {
		if o.Get("id").Str == "model" || o.Get("category").Str == "model" {
			model = o.Get("currentValue").Str
		}
		return model == ""
	})
	return model
}

package probe

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

func unquote(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}

func intOf(text []byte, path string) int64 { return gjson.GetBytes(text, path).Int() }

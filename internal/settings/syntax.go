package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// syntax says in which line a file stops being JSON.
func syntax(b []byte) error {
	var v any
	err := json.Unmarshal(b, &v)
	var at *json.SyntaxError
	if errors.As(err, &at) {
		off := min(int(at.Offset), len(b))
		return fmt.Errorf("line %d: %s", 1+strings.Count(string(b[:off]), "\n"), at.Error())
	}
	return err
}

func copyDuration(to, from any) {
	*to.(*time.Duration) = *from.(*time.Duration)
}

package install

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestUnreached has a network that leads nowhere be told from an archive that is wrong.
func TestUnreached(t *testing.T) {
	in := New(At(t.TempDir()))
	in.sleep = func(context.Context, time.Duration) error { return nil }
	_, err := in.Install(t.Context(), Request{Registry: "http://127.0.0.1:1/agent.json"})
	var unreached *UnreachedError
	if !errors.As(err, &unreached) {
		t.Errorf("%T %v", err, err)
	}
	if _, err := in.Install(t.Context(), Request{File: "none.zip"}); err == nil || errors.As(err, &unreached) || err.Error() != "none.zip: no such file" {
		t.Errorf("%v", err)
	}
}

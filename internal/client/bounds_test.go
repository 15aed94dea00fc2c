package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestAnAgentThatSaysTooMuch(t *testing.T) {
	c, ctx := start(t, Options{MaxKept: 64 << 10})
	r, err := c.Request("initialize", `{"protocolVersion":1}`).Result(ctx)
	if err != nil {
		t.Fatal(r.Raw, err)
	}
	r, _ = c.Request("session/new", `{"cwd":"/tmp","mcpServers":[]}`).Result(ctx)
	_, err = c.Request("session/prompt", `{"sessionId":`+r.Get("sessionId").Raw+`,"prompt":[{"type":"text","text":"flood 1000"}]}`).Wait(ctx)
	var much *TooMuchError
	if !errors.As(err, &much) {
		t.Fatal(err)
	}
	n := 0
	for _, l := range c.Lines(0) {
		n += len(l.Bytes)
	}
	if n > 64<<10 {
		t.Errorf("%d bytes are kept", n)
	}
}

// TestAnAgentThatOnlyAsks reads none of its answers: they must not pile up.
func TestAnAgentThatOnlyAsks(t *testing.T) {
	c, ctx := startProgram(t, Options{}, "asks")
	_, err := c.Request("initialize", "{}").Wait(ctx)
	var deaf *DeafError
	if !errors.As(err, &deaf) {
		t.Errorf("%v", err)
	}
	if n := c.owe(0); n > maxOwed+1 {
		t.Errorf("%d answers wait", n)
	}
}

func TestAnAnswerThatSaysNothing(t *testing.T) {
	c, ctx := startProgram(t, Options{}, "empty")
	_, err := c.Request("initialize", "{}").Wait(ctx)
	var empty *EmptyError
	if !errors.As(err, &empty) || !strings.Contains(err.Error(), "answered initialize with neither a result nor an error") {
		t.Errorf("%v", err)
	}
}

// TestAnAgentThatTakesNothing does not hold up who writes to it.
func TestAnAgentThatTakesNothing(t *testing.T) {
	c, _ := start(t, Options{WriteTimeout: 50 * time.Millisecond}, "--start-delay", "1h")
	began := time.Now()
	_, err := c.Request("initialize", `{"padding":"`+strings.Repeat("x", 4<<20)+`"}`).Wait(context.Background())
	if err == nil || !strings.Contains(err.Error(), "writing to the agent") || time.Since(began) > 20*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestIndexes(t *testing.T) {
	c, ctx := start(t, Options{})
	call := c.Request("initialize", `{"protocolVersion":1}`)
	a, err := call.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	lines := c.Lines(0)
	if l := lines[call.Index]; !l.Sent || l.Index != call.Index || !strings.Contains(string(l.Bytes), `"initialize"`) {
		t.Errorf("%+v", l)
	}
	if l := lines[a.Index]; l.Sent || string(l.Bytes) != string(a.Line) {
		t.Errorf("%+v", l)
	}
}

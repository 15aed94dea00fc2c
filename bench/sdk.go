package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"

	acp "github.com/coder/acp-go-sdk"
)

// sdkMain is a relay of two of acp-go-sdk's connections.
func sdkMain(argv []string) {
	cmd, in, out := startAgent(argv)
	var client, agent *acp.Connection
	pass := func(to **acp.Connection) acp.MethodHandler {
		return func(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
			if method == acp.ClientMethodSessionUpdate || method == acp.AgentMethodSessionCancel {
				(*to).SendNotification(ctx, method, params)
				return nil, nil
			}
			r, err := acp.SendRequest[json.RawMessage](*to, ctx, method, params)
			if err != nil {
				return nil, acp.NewInternalError(err.Error())
			}
			return r, nil
		}
	}
	ready := make(chan struct{})
	wait := func(h acp.MethodHandler) acp.MethodHandler {
		return func(ctx context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
			<-ready
			return h(ctx, method, params)
		}
	}
	agent = acp.NewConnection(wait(pass(&client)), in, out)
	client = acp.NewConnection(wait(pass(&agent)), os.Stdout, os.Stdin)
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	agent.SetLogger(quiet)
	client.SetLogger(quiet)
	close(ready)
	<-client.Done()
	in.Close()
	cmd.Wait()
}

package probe

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"acp-shim/internal/wire"
)

const (
	serverName  = "acp-probe"
	toolEcho    = "probe_echo"
	toolImage   = "probe_image"
	tokenHeader = "x-probe-token"
)

// mcpSeen is what an MCP server has seen.
type mcpSeen struct {
	Method string `json:"method"`
	// Token tells that the request had the secret.
	Token bool `json:"token"`
}

// mcpServer is a real MCP server on a loopback port, by streamable HTTP at /mcp
// and by SSE at /sse.
type mcpServer struct {
	base   string
	nonce  string
	secret string
	http   *http.Server

	mu   sync.Mutex
	seen []mcpSeen
}

func (t *trial) serveMCP() *mcpServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.fail("no MCP server can listen on a loopback port here: %v", err)
	}
	s := &mcpServer{base: "http://" + l.Addr().String(), nonce: t.nonce, secret: t.opt.Secret}
	// What gets as far as the tools has passed the gate.
	tools := newTools(s.nonce, func(method string) { s.note(method, true) })
	mux := http.NewServeMux()
	get := func(*http.Request) *mcp.Server { return tools }
	mux.Handle("/mcp", mcp.NewStreamableHTTPHandler(get, nil))
	mux.Handle("/sse", mcp.NewSSEHandler(get, nil))
	s.http = &http.Server{Handler: s.gate(mux), ReadHeaderTimeout: 10 * time.Second}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.http.Serve(l) // it ends with Close
	}()
	t.cleanup(func() {
		_ = s.http.Close()
		<-served
	})
	return s
}

func (s *mcpServer) admitted(h http.Header) bool {
	return subtle.ConstantTimeCompare([]byte(h.Get(tokenHeader)), []byte(s.secret)) == 1
}

// gate lets nobody in who has not got the token from the agent's configuration.
func (s *mcpServer) gate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.admitted(r.Header) {
			s.note("a request without the token", false)
			http.Error(w, "forbidden", http.StatusForbidden)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
		next.ServeHTTP(w, r)
	})
}

func (s *mcpServer) note(method string, token bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) < 1000 {
		s.seen = append(s.seen, mcpSeen{clip(method, 80), token})
	}
}

func (s *mcpServer) all() []mcpSeen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]mcpSeen(nil), s.seen...)
}

// entry is the server's in mcpServers.
func (s *mcpServer) entry(kind, path string) string {
	return `{"type":"` + kind + `","name":"` + serverName + `","url":` + wire.Quote(s.base+path) +
		`,"headers":[{"name":"` + tokenHeader + `","value":` + wire.Quote(s.secret) + `}]}`
}

type echoInput struct {
	Text string `json:"text" jsonschema:"what to answer"`
}

// newTools is the server itself. What its tools answer has the nonce in it, which
// no model can make up.
func newTools(nonce string, seen func(method string)) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: serverName, Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			seen(method)
			return next(ctx, method, req)
		}
	})
	mcp.AddTool(server, &mcp.Tool{Name: toolEcho, Description: "Answers a text with a code."},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "The code for " + clip(in.Text, 200) + " is " + nonce}}}, nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: toolImage, Description: "Returns an image."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: twoTone()}}}, nil, nil
		})
	return server
}

// The variables that tell the server on stdio what it needs.
const (
	envLog   = "ACP_SHIM_PROBE_LOG"
	envToken = "ACP_SHIM_PROBE_TOKEN"
	envNonce = "ACP_SHIM_PROBE_NONCE"
)

// ServeStdio is the MCP server on stdin and stdout, which the agent starts. It
// writes what it sees to the file that it is told.
func ServeStdio(ctx context.Context) error {
	path := os.Getenv(envLog)
	if path == "" {
		return errors.New("this command is for agents that acp-shim probe examines")
	}
	log, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	var mu sync.Mutex
	token := os.Getenv(envToken) != ""
	server := newTools(os.Getenv(envNonce), func(method string) {
		mu.Lock()
		defer mu.Unlock()
		b, _ := json.Marshal(mcpSeen{clip(method, 80), token}) // of strings it cannot fail
		_, _ = log.Write(append(b, '\n'))                      // what is not written was not seen
	})
	return server.Run(ctx, &mcp.StdioTransport{})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"

	"acp-shim/internal/exchange"
)

// spans is the exporter of otlp.
func (c exportCmd) spans(send func(batch []byte, spans int) error) (exchange.Exporter, error) {
	resource, err := pairs(c.Resource)
	if err != nil {
		return nil, fmt.Errorf("--resource: %w", err)
	}
	return &exchange.Spans{Send: send, Service: c.Service, Version: version(), Resource: resource, Content: c.Content}, nil
}

// pairs reads K=V.
func pairs(list []string) (map[string]string, error) {
	m := map[string]string{}
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return nil, errors.New("it must be K=V")
		}
		m[k] = strings.TrimSpace(v)
	}
	return m, nil
}

// headers are those of the environment, whose values are percent-encoded, and of the
// command line.
func (c exportCmd) headers() (http.Header, error) {
	h := http.Header{}
	if env := os.Getenv("OTEL_EXPORTER_OTLP_HEADERS"); env != "" {
		m, err := pairs(strings.Split(env, ","))
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
		}
		for k, v := range m {
			if plain, err := url.PathUnescape(v); err == nil {
				v = plain
			}
			h.Set(k, v)
		}
	}
	m, err := pairs(c.Header)
	if err != nil {
		return nil, fmt.Errorf("--header: %w", err)
	}
	for k, v := range m {
		h.Set(k, v)
	}
	return h, nil
}

// collect sends the spans to a collector.
func (c exportCmd) collect(d *damage) error {
	headers, err := c.headers()
	if err != nil {
		return failed(err)
	}
	collector, err := exchange.NewCollector(c.Endpoint, headers)
	if err != nil {
		return failed(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	e, err := c.spans(func(batch []byte, n int) error { return collector.Send(ctx, batch, n) })
	if err == nil {
		err = c.pass(d, e)
	}
	fmt.Fprintf(stdout, "%s sent\n", counted(int(collector.Sent), "span"))
	switch {
	case err != nil:
		return failed(err)
	case collector.Rejected > 0:
		return failed(fmt.Errorf("the collector has rejected %s: %s", counted(int(collector.Rejected), "span"), collector.Says))
	case collector.Says != "":
		complain(errors.New("the collector says: " + shown(collector.Says)))
	}
	if d.lines > 0 {
		return exitCode(1)
	}
	return nil
}

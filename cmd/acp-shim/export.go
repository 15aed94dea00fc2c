package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"acp-shim/internal/exchange"
	"acp-shim/internal/trace"
	"acp-shim/record"
)

// exportCmd writes a capture in the format of another tool.
type exportCmd struct {
	File      []string `arg:"" help:"A capture, or the files of one run in their order; - is standard input."`
	Format    string   `required:"" enum:"jsonl,md,jsons,acp-inspector,otlp" help:"jsonl: the frames as they crossed; md: a transcript for a bug report; jsons: events for the Rust SDK's trace viewer; acp-inspector: its trace; otlp: spans for OpenTelemetry."`
	Output    string   `short:"o" placeholder:"FILE" help:"Where to write; - or nothing is standard output."`
	Force     bool     `help:"Overwrite the output file."`
	Side      string   `enum:"client,agent" default:"client" help:"The end at which the frames of jsonl and acp-inspector crossed, ${enum}: what the client, or the agent, saw."`
	Direction string   `enum:"both,from-client,from-agent" default:"both" help:"Only one direction of jsonl and acp-inspector: ${enum}."`
	Raw       bool     `help:"Leave in what looks like a secret; never in md and otlp."`

	Endpoint string   `placeholder:"URL" help:"Send otlp to a collector, such as http://127.0.0.1:4318, in place of writing it."`
	Header   []string `sep:"none" placeholder:"K=V" help:"A header for the collector; may be repeated. OTEL_EXPORTER_OTLP_HEADERS (k=v,k=v) keeps them off the command line."`
	Service  string   `default:"acp-shim" help:"service.name of otlp."`
	Resource []string `sep:"none" placeholder:"K=V" help:"An attribute of otlp's resource, such as host.name=build7; may be repeated."`
	Content  bool     `help:"In otlp, have what was said, the tools' titles, input and output, and the text of errors."`
}

func (c exportCmd) Run() error {
	if c.Format != "otlp" && (c.Endpoint != "" || len(c.Header)+len(c.Resource) > 0 || c.Content) {
		return failed(errors.New("--endpoint, --header, --resource and --content go with --format otlp"))
	}
	var d damage
	if c.Endpoint != "" {
		if c.Output != "" {
			return failed(errors.New("spans go to --endpoint or to --output, not to both"))
		}
		return c.collect(&d)
	}
	err := writeOut(c.Output, c.Force, func(w io.Writer) error {
		e, err := c.exporter(w)
		if err != nil {
			return err
		}
		return c.pass(&d, e)
	})
	if err != nil {
		return failed(err)
	}
	if d.lines > 0 {
		return exitCode(1)
	}
	return nil
}

// pass leads the capture through an exporter.
func (c exportCmd) pass(d *damage, e exchange.Exporter) error {
	if err := records(captures(c.File, true), d, func(r *trace.Record) error { return e.Add(r) }); err != nil {
		return err
	}
	return e.End()
}

func (c exportCmd) wire() exchange.Wire {
	w := exchange.Wire{Both: c.Direction == "both", Raw: c.Raw}
	if c.Side == "agent" {
		w.At = exchange.Agent
	}
	if c.Direction == "from-agent" {
		w.OnlyFrom = exchange.Agent
	}
	return w
}

func (c exportCmd) exporter(w io.Writer) (exchange.Exporter, error) {
	switch c.Format {
	case "jsonl":
		return &exchange.Plain{Wire: c.wire(), Out: w}, nil
	case "md":
		return &exchange.Transcript{Out: w}, nil
	case "jsons":
		return &exchange.Viewer{Out: w, Raw: c.Raw}, nil
	case "acp-inspector":
		return c.inspector(w)
	case "otlp":
		// A batch a line, as the collector's file exporter writes and its receiver
		// reads them.
		return c.spans(func(batch []byte, _ int) error {
			_, err := w.Write(append(batch, '\n'))
			return err
		})
	}
	return nil, fmt.Errorf("there is no format %q", c.Format)
}

// inspector counts first what its header tells.
func (c *exportCmd) inspector(w io.Writer) (exchange.Exporter, error) {
	for _, name := range c.File {
		if name == fromStdin {
			return nil, errors.New("the header of acp-inspector's trace counts what follows, so the capture is read twice: give a file, not standard input")
		}
	}
	count := exchange.Count{Wire: c.wire()}
	for r, err := range trace.Read(captures(c.File, true)) {
		if err == nil {
			count.Add(r)
		}
		var line *record.LineError // it is told in the second pass
		if err != nil && !errors.As(err, &line) {
			return nil, err
		}
	}
	return &exchange.Inspector{Count: count, Out: w, Now: time.Now()}, nil
}

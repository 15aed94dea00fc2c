// Package logs is where the shim's log goes: a file that is rotated every day,
// and stderr, which stays silent unless something is wrong or it was asked for.
//
// It owns the two sinks and their bounds. Nothing that logs ever waits for a
// disk or for a reader of stderr: records are queued and written by a goroutine
// of their own. What may be in a record is its writer's business: no text of a
// prompt, a tool or an output, and nothing secret.
package logs

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/lmittmann/tint"
)

// Options say what is logged, and where.
type Options struct {
	// File is the file's path, or empty for none.
	File string
	// Level is the least level that goes to the file.
	Level slog.Level
	// JSON writes the file as JSON lines instead of text.
	JSON bool
	// Stderr is where the rest goes, from StderrLevel on; Color makes it
	// coloured.
	Stderr      io.Writer
	StderrLevel slog.Level
	Color       bool
}

// New makes a logger. close writes what is queued and ends its goroutines.
func New(opt Options) (logger *slog.Logger, close func()) {
	var handlers fan
	var sinks []*sink
	var stderr slog.Handler
	if opt.Stderr != nil {
		s := newSink(opt.Stderr)
		sinks = append(sinks, s)
		look := &tint.Options{Level: opt.StderrLevel, NoColor: !opt.Color, TimeFormat: "15:04:05.000"}
		if opt.Color {
			look.ReplaceAttr = plainAttr
		}
		stderr = tint.NewTextHandler(s, look)
		handlers = append(handlers, stderr)
	}
	if opt.File != "" {
		s := newSink(&daily{path: opt.File})
		if stderr != nil {
			s.failed = func(err error) {
				slog.New(stderr).Error("the log cannot be written; name another place with --log-file, or none", "why", err.Error())
			}
		}
		// It is closed first: what it says then still has somewhere to go.
		sinks = append([]*sink{s}, sinks...)
		if opt.JSON {
			handlers = append(handlers, slog.NewJSONHandler(escaped{s}, &slog.HandlerOptions{Level: opt.Level}))
		} else {
			handlers = append(handlers, slog.NewTextHandler(s, &slog.HandlerOptions{Level: opt.Level}))
		}
	}
	return slog.New(handlers), func() {
		for _, s := range sinks {
			s.close()
		}
	}
}

// fan is a handler that hands a record to several.
type fan []slog.Handler

func (f fan) Enabled(ctx context.Context, level slog.Level) bool {
	for _, h := range f {
		if h.Enabled(ctx, level) {
			return true
		}
	}
	return false
}

func (f fan) Handle(ctx context.Context, r slog.Record) error {
	var errs []error
	r.Message = plain(r.Message)
	for _, h := range f {
		if h.Enabled(ctx, r.Level) {
			errs = append(errs, h.Handle(ctx, r.Clone()))
		}
	}
	return errors.Join(errs...)
}

func (f fan) WithAttrs(attrs []slog.Attr) slog.Handler {
	g := make(fan, len(f))
	for i, h := range f {
		g[i] = h.WithAttrs(attrs)
	}
	return g
}

func (f fan) WithGroup(name string) slog.Handler {
	g := make(fan, len(f))
	for i, h := range f {
		g[i] = h.WithGroup(name)
	}
	return g
}

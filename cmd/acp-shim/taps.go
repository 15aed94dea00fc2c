package main

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"acp-shim/proxy"
	"acp-shim/record"
)

// taps are what sees all traffic: the recorder, where one was asked for.
// A capture that cannot be written is told on stderr and stops nobody.
func (s *shim) taps() ([]proxy.Tap, func()) {
	if s.set.Record == "" {
		return nil, func() {}
	}
	opt := record.Options{
		Raw: s.set.RecordRaw, Version: version(), Agent: "agent",
		Warn: func(err error) {
			s.log.Error("the capture has a gap", "file", s.set.Record, "error", err.Error())
		},
	}
	if f, err := s.found(); err == nil {
		opt.Argv = append([]string{f.Path}, f.Args...)
		opt.Agent = strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
	}
	w, err := record.Create(expandHome(s.set.Record), opt)
	if err != nil {
		s.log.Error("nothing is recorded; give another place with --record", "error", err.Error())
		return nil, func() {}
	}
	s.log.Info("recording", "file", w.Path())
	return []proxy.Tap{w}, func() {
		w.SetSummary(s.chain.usage.Summary())
		// The disk may take its time, the client's patience does not.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.Shutdown(ctx); err != nil {
			s.log.Error("the capture is not complete", "file", w.Path(), "error", err.Error())
		}
	}
}

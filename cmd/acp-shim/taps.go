package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"acp-shim/proxy"
	"acp-shim/record"
)

// taps are what sees all traffic: the recorder, where one was asked for.
func (s *shim) taps() ([]proxy.Tap, func(), error) {
	if s.set.Record == "" {
		return nil, func() {}, nil
	}
	opt := record.Options{
		Raw: s.set.RecordRaw, Version: version(), Agent: "agent",
		Warn: func(err error) {
			s.log.Warn("the capture has a gap", "error", err.Error())
		},
	}
	if f, err := s.found(); err == nil {
		opt.Argv = append([]string{f.Path}, f.Args...)
		opt.Agent = strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
	}
	w, err := record.Open(expandHome(s.set.Record), opt)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the capture: %w; give another place with --record, or leave it out", err)
	}
	s.log.Info("recording", "file", w.Path())
	return []proxy.Tap{w}, func() {
		w.SetSummary(s.chain.usage.Summary())
		// The disk may take its time, the client's patience does not.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.Shutdown(ctx); err != nil {
			s.log.Warn("the capture is not complete", "error", err.Error())
		}
	}, nil
}

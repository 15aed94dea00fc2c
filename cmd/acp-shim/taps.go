package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"acp-shim/proxy"
	"acp-shim/record"
)

// exitUnrecorded is how the shim ends under --record-strict when it cannot record:
// sysexits.h has this number for an error of input or output.
const exitUnrecorded = 74

// taps are what sees all traffic: the recorder, where one was asked for.
// A capture that cannot be written is told on stderr and stops nobody, unless it
// was asked to.
func (s *shim) taps() ([]proxy.Tap, func()) {
	if s.set.Record == "" {
		return nil, func() {}
	}
	const mib = 1 << 20
	known := newKnownSecrets(s.set)
	opt := record.Options{
		Raw: s.set.RecordRaw, Version: version(), Agent: "agent", Secrets: known.list,
		MaxBlob:    s.set.RecordMaxBlob << 10,
		RotateSize: int64(s.set.RecordRotateSize) * mib, RotateAge: s.set.RecordRotateAge,
		KeepSize: int64(s.set.RecordKeepSize) * mib, KeepAge: s.set.RecordKeepAge,
		Compress: s.set.RecordCompress,
		Warn: func(err error) {
			s.log.Error("the capture is in trouble", "error", err.Error())
		},
	}
	strict := &strictTap{ready: make(chan struct{})}
	if s.set.RecordStrict {
		opt.Strict, opt.Stop = true, func(err error) { s.unrecorded(strict, err) }
	}
	if f, err := s.found(); err == nil {
		opt.Argv = append([]string{f.Path}, f.Args...)
		opt.Agent = strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
	}
	w, err := record.Create(whole(expandHome(s.set.Record)), opt)
	if err != nil {
		if s.set.RecordStrict {
			go s.unrecorded(strict, fmt.Errorf("%w; give another place with --record", err))
			return []proxy.Tap{strict}, func() {}
		}
		s.log.Error("nothing is recorded; give another place with --record", "error", err.Error())
		return nil, func() {}
	}
	s.log.Info("recording", "file", w.Path())
	taps := []proxy.Tap{w}
	if s.set.RecordStrict {
		taps = append(taps, strict)
	}
	return taps, func() {
		w.SetSummary(s.chain.usage.Summary())
		// The disk may take its time, the client's patience does not.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.Shutdown(ctx); err != nil {
			s.log.Error("the capture is not complete", "file", w.Path(), "error", err.Error())
		}
	}
}

// whole is a path that means the same wherever somebody stands who reads of it; a
// slash at its end, which makes it a directory, stays.
func whole(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if path != "" && os.IsPathSeparator(path[len(path)-1]) {
		abs += string(filepath.Separator)
	}
	return abs
}

// unrecorded ends the traffic because it cannot be recorded. What the client has
// asked and has no answer to gets an error.
func (s *shim) unrecorded(t *strictTap, err error) {
	<-t.ready
	s.log.Error("the traffic ends here, since it cannot be recorded and --record-strict was given", "error", err.Error())
	s.loop.Terminate(exitUnrecorded, "the traffic cannot be recorded, as --record-strict wants: "+err.Error())
}

// strictTap tells when there is traffic that can be ended: the recorder may be in
// trouble before the loop is there. An error is then answered by what the client
// asks first.
type strictTap struct {
	once  sync.Once
	ready chan struct{}
}

func (t *strictTap) Frame(*proxy.Frame) { t.once.Do(func() { close(t.ready) }) }
func (t *strictTap) Event(*proxy.Event) {}

package main

import (
	"acp-shim/cancelshim"
	"acp-shim/internal/status"
	"acp-shim/proxy"
	"acp-shim/record"
	"acp-shim/usage"
)

// feedStatus has the run be seen by acp-shim status. It returns the taps with one
// more, the policy with an eye on it, and what ends that; without a state directory
// all stays as it was.
func (s *shim) feedStatus(taps []proxy.Tap, policy func([]byte) proxy.Policy) ([]proxy.Tap, func([]byte) proxy.Policy, func()) {
	if s.state.Path() == "" {
		return taps, policy, func() {}
	}
	opt := status.Options{
		Run: s.run, Version: version(), Profile: s.set.Profile,
		Path: func() string {
			f, _ := s.found()
			return f.Path
		},
		Ignores: func(build string) bool {
			var n cancelshim.Count
			return s.chain.facts.of(factCancel, build, &n) && n.Known()
		},
		Tokens: func(build string) status.Tokens {
			var first usage.First
			ok := s.chain.facts.of(factUsage, build, &first)
			return status.Tokens{Reported: ok, Where: first.Frame, Context: first.Context()}
		},
		Open: func() (status.Sink, error) {
			r, err := s.state.Begin()
			if r == nil {
				return nil, err
			}
			s.state.PruneRuns()
			return r, nil
		},
		Warn: func(err error) { s.log.Warn("acp-shim status does not see this run", "error", err.Error()) },
	}
	for _, t := range taps {
		if w, ok := t.(*record.Writer); ok {
			opt.Recording = w.Path
		}
	}
	board := status.New(opt)
	taps = append(taps, board)
	if policy == nil {
		return taps, nil, board.Close
	}
	return taps, func(result []byte) proxy.Policy {
		p := policy(result)
		board.SetExclusive(p.Exclusive)
		return p
	}, board.Close
}

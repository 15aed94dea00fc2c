package main

import (
	"os"
	"time"

	"acp-shim/internal/agent"
	"acp-shim/internal/state"
	"acp-shim/usage"
)

// book writes what a turn has used into the books, for acp-shim usage. A shim
// within another one leaves that to it.
func (s *shim) book(t usage.Turn) {
	if !s.set.Remember || agent.Depth(os.Getenv) > 0 {
		return
	}
	u := state.Used{At: time.Now().UTC(), Session: t.Session, Model: t.Model, Build: t.Build, Tokens: t.Tokens,
		Context: t.Totals.Used, Window: t.Totals.Size, Cost: t.Totals.Cost, Currency: t.Totals.Currency}
	s.chain.facts.later(func() error { return s.state.Book(u) })
}

package usage

// Totals are what a session has used.
type Totals struct {
	Tokens
	// Used and Size are the context window, in tokens, as it was told last.
	Used int64 `json:"used,omitempty"`
	Size int64 `json:"size,omitempty"`
	// Cost is what the session has cost, as it was told last.
	Cost     float64 `json:"cost,omitempty"`
	Currency string  `json:"currency,omitempty"`
	// Turns is how many prompts were answered.
	Turns int64 `json:"turns,omitempty"`
}

// Add takes a report of which these tokens are to be counted.
func (t *Totals) Add(r Report, tokens Tokens) {
	if r.HasUsed {
		t.Used = r.Used
	}
	if r.HasSize {
		t.Size = r.Size
	}
	if r.Currency != "" {
		t.Cost, t.Currency = r.Cost, r.Currency
	}
	t.Tokens = t.Tokens.Plus(tokens)
}

// Session adds up what is reported of one session.
//
// ACP says of the figures in a prompt's result that they are those of all turns;
// some agents send those of the turn. Figures that grow from turn to turn are
// taken for the former. The first that is less than the one before shows the
// latter, and what came before is added up again; unless another process has said
// it, which may have begun to count anew.
type Session struct {
	Totals

	base, last, sum Tokens // before this process, its last report, all its reports
	process         int
	ofTurns         bool
}

// Add takes a report by the process with this number. It returns what it adds: the
// tokens of the turn.
func (s *Session) Add(r Report, process int) (turn Tokens) {
	s.Totals.Add(r, Tokens{})
	if !r.HasTokens {
		return Tokens{}
	}
	before := s.Tokens
	if process != s.process {
		s.base, s.last, s.sum, s.process = s.Tokens, Tokens{}, Tokens{}, process
		if !s.ofTurns && !r.OfTurn && !r.Tokens.below(before) && before != (Tokens{}) {
			// It knows what was used before it.
			s.base, s.last = Tokens{}, before
		}
	}
	if r.OfTurn || r.Tokens.below(s.last) {
		s.ofTurns = true
	}
	s.sum = s.sum.Plus(r.Tokens)
	if s.ofTurns {
		s.Tokens = s.base.Plus(s.sum)
		turn = r.Tokens
	} else {
		s.Tokens = s.base.Plus(r.Tokens)
		turn = s.Tokens.minus(before)
	}
	s.last = r.Tokens
	return turn
}

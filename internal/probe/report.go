package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// Format and Version are what a report says of itself. A member is added without
// a new version; one that is there keeps its meaning.
const (
	Format  = "acp-shim-probe"
	Version = 1
)

// Report is what came of a probe.
type Report struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	Shim    string    `json:"shim,omitempty"`
	Time    time.Time `json:"time"`
	Agent   Agent     `json:"agent"`
	// Live tells that quota could be spent.
	Live    bool     `json:"live"`
	Capture string   `json:"capture,omitempty"`
	Gates   []Result `json:"gates"`
	// Left are the ids of the conversations that the agent did not delete.
	Left []string `json:"left,omitempty"`
	// Through is the same through the shim.
	Through *Report `json:"through,omitempty"`
}

// Agent is what was probed.
type Agent struct {
	Argv         []string        `json:"argv,omitempty"`
	Info         json.RawMessage `json:"info,omitempty"`
	Capabilities json.RawMessage `json:"capabilities,omitempty"`
}

// Result is what came of one gate.
type Result struct {
	About
	Verdict Verdict `json:"verdict"`
	// Figure says in a line what was seen.
	Figure string `json:"figure"`
	// Why is a word for why a gate was not run, and Next what to do about that.
	Why  string `json:"why,omitempty"`
	Next string `json:"next,omitempty"`
	// Figures are what can be measured again, Facts what can be compared.
	Figures []Number          `json:"figures,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
	Proofs  []Proof           `json:"proofs,omitempty"`
	TookMS  int64             `json:"tookMs"`
}

// Number is a figure with its unit: ms, bytes or count.
type Number struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Proof is a frame or an event of the capture, shortened and without secrets.
type Proof struct {
	Seq  uint64 `json:"seq"`
	From string `json:"from"`
	Text string `json:"text"`
}

// Counts is how often each verdict was given.
func (r *Report) Counts() map[Verdict]int {
	n := map[Verdict]int{}
	for i := range r.Gates {
		n[r.Gates[i].Verdict]++
	}
	return n
}

// Gate is the result of one, or nil.
func (r *Report) Gate(id string) *Result {
	for i := range r.Gates {
		if r.Gates[i].ID == id {
			return &r.Gates[i]
		}
	}
	return nil
}

// maxReport is more than a report has: frames in it are shortened.
const maxReport = 16 << 20

// ReadReport reads a report that was kept. Its error says what is wrong with the
// file.
func ReadReport(path string) (*Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxReport+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	r := &Report{}
	switch err := json.Unmarshal(b, r); {
	case len(b) > maxReport:
		err = fmt.Errorf("it is larger than %d MiB", maxReport>>20)
		fallthrough
	case err != nil:
		return nil, fmt.Errorf("%s is no report of acp-shim probe --json: %w", path, err)
	case r.Format != Format:
		return nil, fmt.Errorf("%s is no report of acp-shim probe --json: its format is %q", path, r.Format)
	case r.Version != Version:
		return nil, fmt.Errorf("%s is a report of version %d, and this acp-shim reads version %d", path, r.Version, Version)
	case len(r.Gates) == 0:
		return nil, errors.New(path + " is a report without a gate")
	}
	r.tidy()
	if r.Through != nil {
		r.Through.tidy()
	}
	return r, nil
}

// tidy makes what is no agent's text, in a report that this program has written,
// fit to be printed also where somebody else has written it.
func (r *Report) tidy() {
	for i := range r.Gates {
		g := &r.Gates[i]
		for _, text := range []*string{&g.ID, &g.Title, &g.Criterion, &g.Source, (*string)(&g.Verdict), &g.Why, &g.Next} {
			*text = clip(tidy(*text), maxFigure)
		}
	}
}

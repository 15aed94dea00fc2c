package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"sync"

	"acp-shim/internal/probe"
)

// mdSigns are those that Markdown, as GitHub has it, takes for more than text.
var mdSigns = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "&", "&amp;", "`", "'", "*", "\\*", "_", "\\_", "~", "\\~", "[", "\\[", "]", "\\]")
})

// mdCell is text of a peer's in a cell of a table.
func mdCell(text string) string { return mdSigns().Replace(cleanLine(text)) }

// mdCode is text of a peer's as code.
func mdCode(text string) string { return "`" + strings.ReplaceAll(cleanLine(text), "`", "'") + "`" }

func printProbeMD(w io.Writer, r *probe.Report) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# %s\n\n%s, acp-shim %s\n\n", mdCell(agentLine(r.Agent)), r.Time.Format("2006-01-02 15:04:05 UTC"), mdCell(r.Shim))
	if r.Through != nil {
		fmt.Fprint(out, "| gate | | bare | through the shim | through the shim it shows | bare it shows |\n|---|---|---|---|---|---|\n")
		for i := range r.Through.Gates {
			b := &r.Through.Gates[i]
			a := r.Gate(b.ID)
			if a == nil {
				continue // a report that somebody has changed
			}
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", mdCell(b.ID), mdCell(b.Title), mdCell(string(a.Verdict)), mdCell(string(b.Verdict)), mdCell(b.Figure), mdCell(a.Figure))
		}
		fmt.Fprintf(out, "\nbare: %s\n\nthrough the shim: %s\n", countsLine(r), countsLine(r.Through))
		return out.Flush()
	}
	fmt.Fprint(out, "| gate | | verdict | figure | criterion | frames |\n|---|---|---|---|---|---|\n")
	for i := range r.Gates {
		g := &r.Gates[i]
		var seqs []string
		for _, p := range g.Proofs {
			seqs = append(seqs, fmt.Sprint(p.Seq))
		}
		figure := mdCell(g.Figure)
		if g.Next != "" {
			figure += " → " + mdCell(g.Next)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s (%s) | %s |\n", mdCell(g.ID), mdCell(g.Title), mdCell(string(g.Verdict)), figure, mdCell(g.Criterion), mdCell(g.Source), strings.Join(seqs, ", "))
	}
	fmt.Fprintf(out, "\n%s\n", countsLine(r))
	if !r.Live {
		fmt.Fprint(out, "\nWhat spends quota was not tried.\n")
	}
	if len(r.Left) > 0 {
		fmt.Fprintf(out, "\n%s that the agent did not delete: %s\n", counted(len(r.Left), "conversation"), mdCode(strings.Join(r.Left, " ")))
	}
	fmt.Fprint(out, "\n## Frames\n")
	if r.Capture != "" {
		fmt.Fprintf(out, "\nThey are numbered as in the capture %s.\n", mdCode(r.Capture))
	}
	for i := range r.Gates {
		g := &r.Gates[i]
		if len(g.Proofs) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s, %s\n\n", mdCell(g.ID), mdCell(string(g.Verdict)))
		for _, p := range g.Proofs {
			fmt.Fprintf(out, "- %d, %s: %s\n", p.Seq, mdCell(p.From), mdCode(p.Text))
		}
	}
	return out.Flush()
}

func printComparisonMD(w io.Writer, c *probe.Comparison) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "# What has changed\n\nfrom %s, %s\n\nto %s, %s\n\n", mdCell(agentLine(c.Old.Agent)), c.Old.Time, mdCell(agentLine(c.New.Agent)), c.New.Time)
	if len(c.Changes) == 0 {
		fmt.Fprint(out, "nothing\n")
	} else {
		fmt.Fprint(out, "| gate | | what | before | now | |\n|---|---|---|---|---|---|\n")
	}
	for _, x := range c.Changes {
		what := x.Kind
		if x.Name != "" {
			what = x.Name
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s |\n", mdCell(x.Gate), mdCell(x.Title), mdCell(what), mdCell(x.Old), mdCell(x.New), mdCell(x.Way))
	}
	if len(c.NotCompared) > 0 {
		fmt.Fprintf(out, "\nnot compared: %s\n", mdCell(strings.Join(c.NotCompared, ", ")))
	}
	return out.Flush()
}

package main

import (
	"encoding/json"
	"fmt"
	"io"

	"acp-shim/internal/schema"
	"acp-shim/internal/trace"
)

type validateCmd struct {
	File   []string `arg:"" help:"A capture, or the files of one run in their order; - is standard input."`
	Strict bool     `help:"Warnings count as violations: values, variants and methods that the schema does not know."`
	JSON   bool     `help:"Print JSON."`
}

// Run prints what is wrong with a capture's frames. The exit code is 1 where
// something is.
func (v validateCmd) Run() error {
	var report schema.Report
	var d damage
	err := records(captures(v.File, true), &d, func(r *trace.Record) error {
		if r.Kind == trace.Header || r.Kind == trace.Event {
			return nil
		}
		list, err := schema.Check(r)
		report.Add(list)
		return err
	})
	if err != nil {
		return err
	}
	if err := v.print(stdout, &report); err != nil {
		return err
	}
	if report.Violations > 0 || v.Strict && report.Warnings > 0 || d.lines > 0 {
		return exitCode(1)
	}
	return nil
}

func (v validateCmd) print(w io.Writer, report *schema.Report) error {
	if v.JSON {
		list := report.Findings()
		if list == nil {
			list = []*schema.Finding{}
		}
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{
			"frames": report.Frames, "violations": report.Violations, "warnings": report.Warnings,
			"findings": list, "notListed": report.Left,
		})
	}
	for _, f := range report.Findings() {
		kind := "violation"
		if f.Warning {
			kind = "warning  "
		}
		where := f.Method
		if f.Path != "" {
			where += " " + f.Path
		}
		line := fmt.Sprintf("%s  %6d  %-6s  %s: %s", kind, f.Seq, f.Who, where, f.Says)
		if f.Count > 1 {
			line += fmt.Sprintf(" (%d times)", f.Count)
		}
		if f.Mended {
			line += " (the shim has mended it)"
		}
		if _, err := fmt.Fprintln(w, shown(line)); err != nil {
			return err
		}
	}
	if report.Left > 0 {
		fmt.Fprintf(w, "and %d more\n", report.Left)
	}
	_, err := fmt.Fprintf(w, "%s, %s, %s\n", counted(report.Frames, "frame"), counted(report.Violations, "violation"), counted(report.Warnings, "warning"))
	return err
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"acp-shim/internal/compare"
	"acp-shim/internal/trace"
)

type diffCmd struct {
	A      string `arg:"" help:"A capture."`
	B      string `arg:"" help:"A capture of the same conversation, on another build for instance."`
	Timing bool   `default:"true" negatable:"" help:"Compare how long the agent takes."`
	JSON   bool   `help:"Print JSON."`
}

// Run prints what differs. The exit code is 1 where something does.
func (d diffCmd) Run() error {
	if d.A == fromStdin && d.B == fromStdin {
		return errors.New("only one of the two captures can be the standard input")
	}
	var shapes [2]*compare.Shape
	for i, path := range []string{d.A, d.B} {
		shapes[i] = compare.NewShape()
		var lost damage
		err := records(captures([]string{path}, true), &lost, func(r *trace.Record) error {
			shapes[i].Add(r)
			return nil
		})
		if err != nil {
			return err
		}
	}
	sections := compare.Diff(shapes[0], shapes[1], compare.Options{Timing: d.Timing})
	if d.JSON {
		if sections == nil {
			sections = []compare.Section{}
		}
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(sections); err != nil {
			return err
		}
	} else if err := d.print(sections); err != nil {
		return err
	}
	if len(sections) > 0 {
		return exitCode(1)
	}
	return nil
}

func (d diffCmd) print(sections []compare.Section) error {
	p := newPainter(stdout)
	if len(sections) == 0 {
		p.line("no difference")
		return nil
	}
	p.line(p.paint("31", "- "+shown(d.A)))
	p.line(p.paint("32", "+ "+shown(d.B)))
	colors := map[string]string{"-": "31", "+": "32", "~": "33"}
	for _, s := range sections {
		p.line("\n" + p.paint("1", shown(s.Title)))
		for _, l := range s.Lines {
			p.line("  " + p.paint(colors[l.Mark], l.Mark+" "+clip(shown(l.Text), 300)))
		}
	}
	_, err := fmt.Fprintln(p.w)
	return err
}

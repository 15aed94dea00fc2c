package doctor

import (
	"strings"

	"acp-shim/internal/editors"
)

// editors looks which clients start the shim. One that does is enough: who has
// others knows what they are for.
func (x *Exam) editors() []Finding {
	var set, not []string
	var all []Finding
	for _, f := range editors.Detect(editors.Machine{Getenv: x.Getenv, GOOS: x.GOOS, Home: x.home(), LookPath: x.LookPath}) {
		for _, path := range f.Missing {
			all = append(all, warning("%s has the shim start %s, which is not there", f.Client.Title, x.tilde(path)).
				remedy("correct %s: without -- and what is behind it, the shim starts the installed agent", x.tilde(f.File)))
		}
		switch f.State {
		case editors.Ready:
			where := f.File
			if where == "" {
				where = f.Where
			}
			set = append(set, f.Client.Title+" ("+x.tilde(where)+")")
		case editors.Open:
			not = append(not, f.Client.Title)
		case editors.Broken:
			all = append(all, warning("%s: %s", f.Client.Title, f.Problem).remedy("correct that file; acp-shim setup %s does not touch it as it is", f.Name))
		}
	}
	// pi takes the agent from a variable before it looks into a file.
	if bin := x.Getenv("AGY_ACP_BIN"); strings.Contains(bin, "acp-shim") || bin != "" && bin == x.Exe {
		set = append(set, "pi (AGY_ACP_BIN)")
	}
	switch {
	case set != nil:
		all = append(all, ok("the shim is set up in %s", strings.Join(set, ", ")))
	case not != nil:
		all = append(all, warning("%s: here, and not set up to start the shim", strings.Join(not, ", ")).remedy("acp-shim setup shows how"))
	case all == nil:
		all = append(all, warning("no editor was found that starts the shim").remedy("acp-shim setup shows how, for those that it knows"))
	}
	return all
}

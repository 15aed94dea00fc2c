package main

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"os"
	"strings"
	"testing"
)

// TestNothingInternalIsNamed walks what the public packages export. Who uses
// them cannot write the name of a type from an internal package: where one is
// part of a signature, a public package must give it a name by an alias, and
// what that type exports is looked at in the same way.
func TestNothingInternalIsNamed(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	from := importer.ForCompiler(token.NewFileSet(), "source", nil).(types.ImporterFrom)
	w := &walker{seen: map[types.Type]bool{}, named: map[*types.TypeName]bool{}}
	var all []*types.Package
	for _, name := range []string{"proxy", "cancelshim", "usage", "record", "rewrite", "replay", "fixtures/bridge", "fixtures/sim"} {
		p, err := from.ImportFrom("acp-shim/"+name, dir, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
		w.aliases(p)
	}
	for _, p := range all {
		w.scope(p)
	}
	if len(w.named) == 0 || len(w.seen) < 100 {
		t.Errorf("only %d types and %d aliases were seen", len(w.seen), len(w.named))
	}
	for _, problem := range w.problems {
		t.Error(problem)
	}
}

type walker struct {
	seen     map[types.Type]bool
	named    map[*types.TypeName]bool // internal types that have a public name
	problems []string
}

func internal(n *types.TypeName) bool {
	return n.Pkg() != nil && strings.HasPrefix(n.Pkg().Path(), "acp-shim/internal/")
}

// aliases notes which internal types a package gives a name.
func (w *walker) aliases(p *types.Package) {
	for _, name := range p.Scope().Names() {
		tn, ok := p.Scope().Lookup(name).(*types.TypeName)
		if !ok || !tn.Exported() || !tn.IsAlias() {
			continue
		}
		if n, ok := types.Unalias(tn.Type()).(*types.Named); ok && internal(n.Obj()) {
			w.named[n.Obj()] = true
		}
	}
}

func (w *walker) scope(p *types.Package) {
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			w.walk(p.Name()+"."+name, o.Type())
		}
	}
}

// walk looks at a type that is reached by the given way.
func (w *walker) walk(way string, t types.Type) {
	t = types.Unalias(t)
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		w.object(way, t)
	case *types.Pointer:
		w.walk(way, t.Elem())
	case *types.Slice:
		w.walk(way, t.Elem())
	case *types.Array:
		w.walk(way, t.Elem())
	case *types.Chan:
		w.walk(way, t.Elem())
	case *types.Map:
		w.walk(way, t.Key())
		w.walk(way, t.Elem())
	case *types.Signature:
		for _, tuple := range []*types.Tuple{t.Params(), t.Results()} {
			for i := range tuple.Len() {
				w.walk(way, tuple.At(i).Type())
			}
		}
	case *types.Struct:
		for i := range t.NumFields() {
			if f := t.Field(i); f.Exported() {
				w.walk(way+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for i := range t.NumMethods() {
			if m := t.Method(i); m.Exported() {
				w.walk(way+"."+m.Name(), m.Type())
			}
		}
	}
}

// object looks at a type with a name, and into it if it is one of the module's.
func (w *walker) object(way string, n *types.Named) {
	o := n.Obj()
	if o.Pkg() == nil || !strings.HasPrefix(o.Pkg().Path(), "acp-shim/") {
		return
	}
	if internal(o) && !w.named[o] {
		w.problems = append(w.problems, fmt.Sprintf("%s names %s.%s, which nobody outside can write", way, o.Pkg().Path(), o.Name()))
		return
	}
	way = o.Pkg().Name() + "." + o.Name()
	for i := range n.TypeArgs().Len() {
		w.walk(way, n.TypeArgs().At(i))
	}
	for i := range n.NumMethods() {
		if m := n.Method(i); m.Exported() {
			w.walk(way+"."+m.Name(), m.Type())
		}
	}
	w.walk(way, n.Underlying())
}

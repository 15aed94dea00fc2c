package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/posener/complete"

	"acp-shim/internal/settings"
)

// completionCmd prints what a shell needs to complete the arguments of acp-shim.
type completionCmd struct {
	Shell string `arg:"" optional:"" enum:"bash,zsh,fish," default:"" help:"bash, zsh or fish (the one in SHELL)."`
}

// Help is what the flags do not say.
func (completionCmd) Help() string {
	return `Put one of these lines into your shell's start-up file:

  source <(acp-shim completion bash)     ~/.bashrc
  source <(acp-shim completion zsh)      ~/.zshrc
  acp-shim completion fish | source      ~/.config/fish/config.fish`
}

func (c completionCmd) Run() error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	shell := c.Shell
	if shell == "" {
		shell = filepath.Base(os.Getenv("SHELL"))
	}
	exe = shellWord(exe)
	// The shells start the program named behind -C with COMP_LINE and COMP_POINT set
	// (bash's manual, Programmable Completion Builtins).
	const bash = "complete -o default -o bashdefault -C %s acp-shim\n"
	switch shell {
	case "bash":
		_, err = fmt.Fprintf(stdout, bash, quoteOnceMore(exe))
	case "zsh":
		_, err = fmt.Fprintf(stdout, "autoload -U +X bashcompinit && bashcompinit\n"+bash, quoteOnceMore(exe))
	case "fish":
		_, err = fmt.Fprintf(stdout, `function __complete_acp_shim
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    set -lx COMP_POINT (string length -- "$COMP_LINE")
    %s
end
complete -c acp-shim -a "(__complete_acp_shim)"
`, exe)
	default:
		return errors.New("say which shell: acp-shim completion bash, zsh or fish")
	}
	return err
}

// quoteOnceMore is for a word that the shell takes apart twice: the command of -C is
// run as a line.
func quoteOnceMore(word string) string { return `"` + strings.ReplaceAll(word, `"`, `\"`) + `"` }

// completes tells that a shell asks what a line may go on with. An editor has no
// such variables, and gives no such arguments.
func completes(args []string) bool {
	line := os.Getenv("COMP_LINE")
	if line == "" || os.Getenv("COMP_POINT") == "" {
		return false
	}
	word, _, _ := strings.Cut(line, " ")
	return filepath.Base(word) == "acp-shim" && (len(args) == 1 || len(args) == 4)
}

// completionMain prints what the line may go on with.
func completionMain(out io.Writer) int {
	line := os.Getenv("COMP_LINE")
	if point, err := strconv.Atoi(os.Getenv("COMP_POINT")); err == nil && point >= 0 && point < len(line) {
		line = line[:point]
	}
	if behindDoubleDash(line) {
		return 0
	}
	parser, err := newParser(&cli{}, func(int) {})
	if err != nil {
		return 1
	}
	c := complete.New("acp-shim", completion(parser.Model.Node))
	c.Out = out
	if !c.Complete() {
		return 1
	}
	return 0
}

// completion is what can be typed for a command.
func completion(node *kong.Node) complete.Command {
	c := complete.Command{Sub: complete.Commands{}, Flags: complete.Flags{}, Args: complete.PredictNothing}
	words := commandWords(node)
	for _, child := range node.Children {
		if !child.Hidden {
			c.Sub[child.Name] = completion(child)
		}
	}
	for _, f := range node.Flags {
		p := complete.PredictNothing
		switch {
		case f.IsBool():
		case f.Enum != "":
			p = complete.PredictSet(strings.Split(f.Enum, ",")...)
		default:
			p = complete.PredictFiles("*")
			if known := predictKnown(words + " --" + f.Name); known != nil {
				p = known
			}
		}
		c.Flags["--"+f.Name] = p
		if f.Short != 0 {
			c.Flags["-"+string(f.Short)] = p
		}
	}
	for _, arg := range node.Positional {
		if arg.Enum != "" {
			c.Args = complete.PredictSet(strings.FieldsFunc(arg.Enum, func(r rune) bool { return r == ',' })...)
		} else if c.Args == nil || len(node.Positional) == 1 {
			c.Args = complete.PredictFiles("*")
		}
	}
	if known := predictKnown(words); known != nil {
		c.Args = known
	}
	if d := node.DefaultCmd; d != nil { // what it takes is typed without its name, too
		of := completion(d)
		maps.Copy(c.Flags, of.Flags)
		c.Args = of.Args
	}
	switch {
	case node.Type == kong.ApplicationNode || node.Name == "run" || node.Name == "config":
		for _, r := range settings.Rows() {
			p := complete.PredictFiles("*")
			if v := r.Values(); strings.Contains(v, "|") && v == strings.ToLower(v) {
				p = complete.PredictSet(strings.Split(v, "|")...)
			}
			if r.Name == "quirk" {
				p = complete.PredictFunc(predictQuirk)
			}
			c.Flags["--"+r.Name] = p
		}
		c.Args = complete.PredictOr(c.Args, complete.PredictFunc(predictSwitch))
	case node.Name == "sim":
		c.Flags["--build"] = complete.PredictSet(simBuilds(node.Parent)...)
	case node.Name == "help":
		c.Args = complete.PredictFunc(func(complete.Args) []string {
			var names []string
			for _, x := range node.Parent.Children {
				if !x.Hidden {
					names = append(names, x.Name)
				}
			}
			return names
		})
	}
	return c
}

package proxy

import "acp-shim/internal/agent"

// Guard is a second process that ends the agents when this one is gone, in
// whichever way; see [agent.Guard].
type Guard = agent.Guard

// GuardArg is the first argument of a guard. A program that starts one must call
// GuardMain before anything else when it finds it:
//
//	if len(os.Args) > 1 && os.Args[1] == proxy.GuardArg {
//		os.Exit(proxy.GuardMain(os.Args[2:]))
//	}
const GuardArg = agent.GuardArg

// GuardMain is the guard's whole life.
func GuardMain(args []string) int { return agent.GuardMain(args) }

// NewRunID makes an id for a run, for Spec.RunID and StartGuard.
func NewRunID() string { return agent.NewRunID() }

// StartGuard starts a guard for the agents of a run.
func StartGuard(run string) (*Guard, error) { return agent.StartGuard(run) }

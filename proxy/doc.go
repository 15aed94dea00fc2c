// Package proxy carries an ACP conversation between one client and the agent
// processes behind it: an agent to the client, a client to the agents.
//
// It owns frames' ways, requests and their ids, sessions and processes. It must
// not know quirks of an agent, what a cancel means or how a capture is written:
// those are interceptors and taps, which it knows by their contracts only.
//
// # Shape
//
// One Core owns every decision. Events go in: a line from the client or from an
// agent, a process started or gone, a timer. Effects come out. It does no I/O,
// has no clock and starts no goroutine, so that a test is a transcript. The Loop
// around it is one lock, not a goroutine: whoever brings an event takes the lock
// and steps the core, and what the step has written leaves in one write.
//
//	client stdin → wire.Reader ─event→ ┌──── Core, under one lock ────┐ ─effect→ outbox → agent[i] stdin
//	                                   │   chain, in order, then tap   │
//	client stdout ← outbox  ←effect─   │   tap, after chain, reversed  │ ←event─ wire.Reader ← agent[i] stdout
//	                                   └── timers and ends are events ─┘
//
// Sessions last, processes are replaceable: everything that came of a process
// carries its generation, and what a condemned one says touches nothing.
//
// # Order
//
// Per direction and session, frames leave in the order in which they came. Only
// session/cancel and $/cancel_request overtake, since they are about what
// waits. A frame the shim makes goes out before the frame that caused it.
//
// # Sessions
//
// With an exclusive Policy every session has a process of its own:
//
//	state      prompt           client's load     close, delete       process gone
//	cold       restore, hold    is the restore    answered, forward   -
//	opening    hold             hold              hold                cold; its load: error
//	idle       running          forward           forward, then gone  cold
//	running    hold             hold              cancel, hold        error, cold
//	unwinding  kill, hold       kill, hold        kill, hold          cold
//	killing    hold             hold              hold                restore, or cold
//	stuck      error            error             error               restore, or cold
//	restoring  hold             replaces ours     hold                one retry, then failed
//	                            while unsent
//	failed     one new try      is the restore    answered, forward   -
//	gone       forward          opening           forward             -
//
// An opening has a limit of a minute, a restore of 20 seconds: then the process is
// ended. A killing goes on while the process lives; its prompt is answered after
// a second, and after six it is stuck. What was killed for a cancel is restored at
// once, what was ended for another reason when something waits for it. A close or
// delete cancels the prompts that wait. "Cancelling" is running with a mark that
// the cancel's interceptor sets; "unwinding" is running with a prompt that was
// answered early, and then whatever is asked of the session ends its process.
//
// Without an exclusive policy there is one process for all sessions, frames are held
// only while it starts, and it is ended only where nothing can come of it any more: it
// has closed its input or its output, or takes nothing.
//
// # Goroutines
//
//	readClient  one; started by Run; blocks in a read of the client's, which is
//	            made to wait by none but the client itself; from the end of that
//	            on it sees whether the client still reads; ends with the loop
//	outbox.run  one a peer; waits for bytes that could not be written at once;
//	            ends when the way is closed
//	attend      one a process; starts it, waits for its end, reports both
//	readAgent   one a process; blocks in a read of its output, and while too much
//	            waits for the client; ends with the output
//	store       at most one; started when there is something to lock or to keep
//	timers      the runtime's; each takes the lock and steps the core
package proxy

// Package cancelshim ends turns: those that the client cancels, on agents that do
// not, and those that have fallen silent, where that is asked for.
//
// ACP defines session/cancel as a notification after which the agent ends the
// turn and answers the prompt with the stop reason "cancelled". The Antigravity
// server may honour it, may honour it late, may answer with an error that
// clients read as "log in", or may ignore it (see the table in README.md); some
// clients send it with an id, which that server rejects. The package asks first
// and, where that does not help within a grace period, has the process ended, so
// that the session goes on in another one. For an agent whose process several
// sessions share it only answers the permission requests that a client leaves
// open.
//
// It owns what a cancel means, what becomes of all that the turn has open (tool
// calls, the agent's requests, terminals of a process that is gone), and which
// builds are known to ignore one. How a process is ended and a session brought
// back is proxy's; what text leaks into the stream is rewrite's.
package cancelshim

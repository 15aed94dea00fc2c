// Package cancelshim makes session/cancel work on agents that do not.
//
// ACP defines session/cancel as a notification after which the agent ends the
// turn and answers the prompt with the stop reason "cancelled". The Antigravity
// server may honour it, may honour it late, may answer with an error that
// clients read as "log in", or may ignore it (see the table of builds in
// README.md); some clients send it with an id, which that server rejects. The
// package asks first and, where that does not help within a grace period, has
// the process ended, so that the session goes on in another one.
//
// It owns what a cancel means. How a process is ended and a session brought
// back is proxy's; what text leaks into the stream is rewrite's.
package cancelshim

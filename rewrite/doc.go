// Package rewrite makes clients and one particular agent understand each other:
// it puts right what one of them says in a way that the other does not take.
//
// It owns three interceptors. A [Rewriter] applies a table of quirks, each with
// a name and a switch, and after them the user's own rules. An [Injector] puts
// MCP servers into every frame that opens a session. [Permissions] answers
// permission requests in the client's place; it stands nearer to the client than
// a cancel's interceptor, which has the first word on them. An Injector between
// the client and the Rewriter has the quirks and rules see what it injects; one
// nearer to the agent keeps it from them.
//
// It also decides from the agent's answer to initialize which [proxy.Policy] it
// gets, since that too is knowledge about one agent.
//
// It must not know what a cancel means, how sessions come back, or how a
// capture is written. A frame that no row of the table is about passes without
// an allocation, and one that is changed differs only in the bytes that had to.
//
// Quirks apply to the profile "agy" only. What a user asked for in so many words,
// injection, rules and permissions, applies whatever the agent is.
//
// All interceptors run under the loop's lock. What may block beside them, to
// keep what was learned and to follow files, has goroutines of its own:
//
//	learned  started for a build's first answer and for what is learned; ends
//	         when that is read or written; Rewriter.Close waits for it
//	watch    one a followed file; started by Watch; ends with Watcher.Close
package rewrite

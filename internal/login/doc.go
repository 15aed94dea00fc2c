// Package login gets a person to the page where a login goes on.
//
// The Antigravity server composes the page's address itself and hands it to a
// browser; on a machine without one it is seen nowhere (seed, RC01), or on a line of
// stdout or stderr (later builds, reports). The package catches it wherever it
// appears: as BROWSER, and as xdg-open on PATH, both of which are this program under
// another name, and in what the agent prints.
//
// It owns the address and who is told of it. It never sees a token, never opens the
// page itself, and never calls the loopback listener that the page leads back to: a
// request without a code ends the login (seed).
package login

// Package replay plays one half of a recorded conversation, so that the other
// half can be tested without it: the agent of a capture for a client
// ([Script.Agent]), or its client for an agent ([Script.Drive]).
//
// It owns what "like the recorded one" means: which recorded request an incoming
// one is, what of the agent's own frames belongs to which request, what waits
// for what, and how session ids and working directories are led over. It must
// not know how a process is started or a terminal painted, and makes no frame
// of its own but the errors for requests that nothing recorded is like.
//
// # Blocks
//
// A frame of the client's that begins something, a request or a notification,
// begins a block. All that the agent sent belongs to one block: an answer to that
// of its request, an update or a request of the agent's to the turn, load or
// opening that its session was in, else to that of the client's last frame in
// that session. An incoming frame finds its block by method, session and
// normalised params, and the block is played: in its recorded order, up to where
// the recorded agent had waited, which is for the client's answer to a request
// of the agent's, or for a cancel. Blocks of one session that run at the same
// time are merged in the recorded order, but a turn waits for the one before,
// unless they were recorded at the same time. Sessions do not wait for each other. A
// request without an answer has none here, either, unless the end of the recording
// has cut it off, as a kill does: then it is answered with an error.
//
// So a client that behaves like the recorded one sees what that one saw, one that
// asks in another order gets the same answers, and what is played depends on
// what was written to the agent and in which order, never on when it is read
// (unless a speed is asked for).
//
// # Normalised params
//
// Params are compared as JSON values. sessionId stands for the session, the
// session's working directory for itself wherever it stands in a string, and
// the port of a URL on the loopback interface for any port. _meta, clientInfo,
// and a prompt's messageId are not compared, nor is a member that is null or empty. What
// redaction or a limit has replaced in the capture stands for any text.
//
// # Memory
//
// A script keeps one or two hundred bytes for each frame in memory; the frames
// themselves are in a temporary file without a name once they are more than 16
// MiB. There are no goroutines but those that [Script.Drive] starts and ends.
package replay

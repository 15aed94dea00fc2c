package proxy

// State is where a session is in its life. See the table in doc.go.
type State uint8

const (
	// Cold is known, and no process holds it.
	Cold State = iota
	// Opening is being loaded or resumed by the client.
	Opening
	// Idle is held by a process and runs no turn.
	Idle
	// Running runs a turn.
	Running
	// Killing waits for its process to be dead.
	Killing
	// Stuck has a process that was killed and does not die.
	Stuck
	// Restoring is being brought back by the shim.
	Restoring
	// Failed could not be brought back.
	Failed
	// Gone was closed or deleted.
	Gone
)

func (s State) String() string {
	return [...]string{"cold", "opening", "idle", "running", "killing", "stuck", "restoring", "failed", "gone"}[s]
}

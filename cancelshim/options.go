package cancelshim

import "time"

// Mode is how a cancel is made to work.
type Mode string

const (
	// Auto asks the agent, and ends its process where that does not help. For
	// a connection whose processes are not exclusive it is Native.
	Auto Mode = "auto"
	// Native asks the agent and ends nothing. Permission requests that the client
	// leaves open are answered for it.
	Native Mode = "native"
	// Emulate does not ask, and ends the process at once.
	Emulate Mode = "emulate"
)

// DefaultGrace is how long an agent has to settle a turn that was cancelled.
const DefaultGrace = time.Second

// answerWithin is when a cancel that was sent as a request is answered at the
// latest.
const answerWithin = 5 * time.Second

// Options set a Shim up.
type Options struct {
	Mode Mode
	// Grace is the time an agent has to settle a turn; 0 is DefaultGrace.
	Grace time.Duration
	// Memory remembers which builds ignore a cancel; nil for this run only.
	Memory Memory
	// Stall is how long a turn may be silent; 0 is for ever.
	Stall time.Duration
	// StallAction is what becomes of a turn that was silent for that long.
	StallAction StallAction
}

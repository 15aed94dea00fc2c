package agent

// StartError says why an agent could not be started.
type StartError struct {
	Path string
	// Words say what is wrong and, where it is known, what to do about it.
	Words string
	// Err is the system's error, or nil.
	Err error
}

func (e *StartError) Error() string { return "cannot start the agent " + e.Path + ": " + e.Words }

func (e *StartError) Unwrap() error { return e.Err }

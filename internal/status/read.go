package status

import (
	"encoding/json"
	"time"
)

// Shim is a shim that runs, or that was killed and could not clear up.
type Shim struct {
	// File is where its status stands.
	File string `json:"file"`
	// Running tells that it lives, or that nobody can tell. Untold says then why not.
	Running bool   `json:"running"`
	Untold  string `json:"untold,omitempty"`
	// At is when it has last written. Status is nil where what it has written
	// cannot be read.
	At     time.Time `json:"at"`
	Status *Status   `json:"status"`
}

// Read reads what a shim has written. text may be anything.
func Read(file string, running bool, at time.Time, text []byte) Shim {
	s := Shim{File: file, Running: running, At: at.UTC()}
	var st Status
	if len(text) > 0 && json.Unmarshal(text, &st) == nil && st.PID > 0 {
		s.Status = &st
	}
	return s
}

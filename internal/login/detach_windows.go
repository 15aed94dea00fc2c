package login

import "os/exec"

func detach(*exec.Cmd) {}

// become is never called: there nothing is put in a browser's place.
func become(*exec.Cmd) int { return 1 }

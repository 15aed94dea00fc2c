package login

import "os/exec"

func detach(*exec.Cmd) {}

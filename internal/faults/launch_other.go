//go:build !linux

package faults

// Launches and Launch are for Linux.
func Launches([]string) bool { return false }

func Launch([]string) int { return 125 }

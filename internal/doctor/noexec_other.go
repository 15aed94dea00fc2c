//go:build unix && !linux

package doctor

func noexec(string) bool { return false }

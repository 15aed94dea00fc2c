//go:build !linux

package install

// running would be the processes whose program is in a directory. Windows does
// not let go of a running program by itself; macOS tells only through a library.
func running(string) []int { return nil }

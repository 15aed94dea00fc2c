//go:build !linux

package conversation

// procOwners is for systems that show open files in /proc.
func procOwners([]string) ([]int, error) { return nil, ErrCannotTell }

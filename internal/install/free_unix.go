//go:build unix

package install

import "golang.org/x/sys/unix"

// Free is how many bytes this user may write in a directory's file system.
func Free(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}

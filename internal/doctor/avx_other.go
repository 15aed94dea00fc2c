//go:build !amd64

package doctor

// hasAVX is not asked here: only programs for x86-64 need it.
func hasAVX() bool { return false }

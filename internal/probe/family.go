package probe

// member is a process of an agent's.
type member struct {
	pid  int
	name string
	rss  int64 // bytes
}

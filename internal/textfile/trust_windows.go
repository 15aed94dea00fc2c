package textfile

import "io/fs"

// distrust leaves it to the directories that such files are in.
func distrust(string, fs.FileInfo) error { return nil }

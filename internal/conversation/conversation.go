// Package conversation mends the database in which the Antigravity server keeps
// a conversation, through the program sqlite3.
//
// A server that is killed in the middle of a checkpoint leaves a row of status 2
// in the table steps, and every later load of the session fails with "could not
// find doneCh for checkpoint" (reported). The mend turns the 2 into a 5, and is
// done only while nobody has the database open, with a copy made and compared
// before, and only if that and nothing else is what it changes.
//
// It owns where conversations are, who has one open, and how one is mended. It
// must not know the shim's sessions and their locks, nor a command line.
package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Dir is where the server keeps the conversations of a home (GEMINI_HOME, or
// ~/.gemini).
func Dir(home string) string { return filepath.Join(home, "antigravity-acp", "conversations") }

// File is a conversation's database.
type File struct {
	// Path is where it is, with no link on the way; what SQLite keeps beside it
	// is there.
	Path string
	// ID is what the agent calls the conversation.
	ID string
}

// Home is the home that the database is a conversation of, "" if it lies
// elsewhere.
func (f File) Home() string {
	dir := filepath.Dir(f.Path)
	home := filepath.Dir(filepath.Dir(dir))
	if dir != Dir(home) {
		return ""
	}
	return home
}

// ErrNone is that there is no such conversation.
var ErrNone = errors.New("there is no such conversation")

// Find finds a conversation by the agent's id.
func Find(home, id string) (File, error) {
	if id == "" || strings.ContainsAny(id, "/\\:\x00") || strings.HasPrefix(id, ".") {
		return File{}, fmt.Errorf("%w: %q cannot be the name of one", ErrNone, id)
	}
	return Open(filepath.Join(Dir(home), id+".db"))
}

// header begins every SQLite database.
const header = "SQLite format 3\x00"

// Open takes the path of a conversation's database. Nothing but a database gets
// past it: of an empty file SQLite would make one, and throw away what is in the
// log beside it.
func Open(path string) (File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("%w: %s is not there", ErrNone, path)
	}
	if err != nil {
		return File{}, fmt.Errorf("looking for the conversation: %w", err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return File{}, fmt.Errorf("looking for the conversation: %w", err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("%s is no database: it is no file", path)
	}
	f, err := os.Open(real)
	if err != nil {
		return File{}, fmt.Errorf("reading the conversation: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(header))
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head, []byte(header)) {
		return File{}, fmt.Errorf("%s is no SQLite database: it does not begin like one", path)
	}
	return File{Path: real, ID: strings.TrimSuffix(filepath.Base(real), ".db")}, nil
}

// parts are the files that make up the database as far as they are there.
func (f File) parts() []string {
	var list []string
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if _, err := os.Stat(f.Path + suffix); err == nil {
			list = append(list, f.Path+suffix)
		}
	}
	return list
}

package editors

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"acp-shim/internal/textfile"
)

// backupEnd and recordEnd make the names of what is kept beside a configuration
// to take a change back: the file as it was, and what was changed in it.
const (
	backupEnd = ".before-acp-shim"
	recordEnd = ".before-acp-shim.json"
)

// change is one of a file's values.
type change struct {
	Path []string `json:"path"`
	// Was is the value's text before, empty for none; Is is what was put there.
	Was string `json:"was,omitempty"`
	Is  string `json:"is"`
	// Made is how many objects were made around it.
	Made int `json:"made,omitempty"`
}

// record is what was done to a file.
type record struct {
	Client string `json:"client"`
	// New is set where there was no file.
	New bool `json:"new,omitempty"`
	// SHA256 is of the file as it was written, empty once others have changed
	// it: then only the changes can be taken back.
	SHA256  string   `json:"sha256"`
	Changes []change `json:"changes"`
}

func readRecord(real string) (record, bool) {
	b, err := textfile.Read(real + recordEnd)
	var r record
	if err != nil || json.Unmarshal(b, &r) != nil || len(r.Changes) == 0 {
		return record{}, false
	}
	for _, c := range r.Changes {
		if len(c.Path) == 0 {
			return record{}, false
		}
	}
	return r, true
}

// Write makes the change. It returns the backup's path, "" where there was no
// file before.
func (p *Plan) Write() (backup string, err error) {
	if !p.Client.Writes {
		return "", fmt.Errorf("the shim does not write the configuration of %s; put the change in by hand", p.Client.Title)
	}
	mode := fs.FileMode(0o600)
	if st, err := os.Stat(p.Real); err == nil {
		mode = st.Mode().Perm()
		if mode&0o200 == 0 {
			return "", fmt.Errorf("%s is read-only (mode %04o); it was not touched: put the change in where it is made", p.File, mode)
		}
	} else if err := os.MkdirAll(filepath.Dir(p.Real), 0o700); err != nil {
		return "", fmt.Errorf("making %s: %w", filepath.Dir(p.Real), textfile.Reason(err))
	}
	if _, now, err := readThrough(p.File); err != nil || !bytes.Equal(now, p.Before) {
		return "", fmt.Errorf("%s was changed at this moment by somebody else; it was not touched: try again", p.File)
	}
	rec, again := readRecord(p.Real)
	if !again {
		rec = record{Client: p.Client.Name, New: p.Before == nil}
	}
	if again && rec.SHA256 != hash(p.Before) {
		rec.SHA256 = ""
	} else {
		rec.SHA256 = hash(p.After)
	}
	rec.add(p.changes)
	if p.Before != nil && !rec.New {
		backup = p.Real + backupEnd
		if !again {
			if err := writeFile(backup, p.Before, mode); err != nil {
				return "", err
			}
		}
	}
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return "", err
	}
	old, _ := textfile.Read(p.Real + recordEnd)
	// Before the file itself: a change without its record could not be taken back.
	if err := writeFile(p.Real+recordEnd, append(text, '\n'), 0o600); err != nil {
		if !again {
			os.Remove(p.Real + backupEnd)
		}
		return "", err
	}
	if err := writeFile(p.Real, p.After, mode); err != nil {
		if again {
			writeFile(p.Real+recordEnd, old, 0o600)
		} else {
			forget(p.Real)
		}
		return "", err
	}
	return backup, nil
}

// add notes changes; of a value that was changed before it keeps what stood
// there at first.
func (r *record) add(changes []change) {
	for _, c := range changes {
		at := slices.IndexFunc(r.Changes, func(o change) bool { return slices.Equal(o.Path, c.Path) })
		if at < 0 {
			r.Changes = append(r.Changes, c)
		} else {
			r.Changes[at].Is = c.Is
		}
	}
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func forget(real string) {
	os.Remove(real + backupEnd)
	os.Remove(real + recordEnd)
}

func writeFile(path string, text []byte, mode fs.FileMode) error {
	if err := textfile.Write(path, text, mode); err != nil {
		return fmt.Errorf("writing %s: %w", path, textfile.Reason(err))
	}
	return nil
}

// realPath follows links, also to a file that is not there yet.
func realPath(file string) (string, error) {
	abs, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	for range 40 {
		st, err := os.Lstat(abs)
		if err != nil || st.Mode()&fs.ModeSymlink == 0 {
			return abs, nil
		}
		target, err := os.Readlink(abs)
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", file, textfile.Reason(err))
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(abs), target)
		}
		abs = target
	}
	return "", fmt.Errorf("%s is a link that leads in a circle", file)
}

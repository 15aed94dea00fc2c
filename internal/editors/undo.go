package editors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tailscale/hujson"

	"acp-shim/internal/textfile"
)

// Undone is what taking a change back has done.
type Undone struct {
	File string
	// Whole is set where the file is what it was before, to the byte; else it had
	// been changed by others, and only the shim's own change was taken out.
	Whole bool
	// Removed is set where there was no file before, and there is none now.
	Removed bool
	// Entries are the names of what was taken back.
	Entries []string
}

// ErrNothing says that there is no change to take back.
var ErrNothing = errors.New("there is nothing to take back")

// Undo takes the shim's change to a client's configuration back.
func (c *Client) Undo(m Machine, settings string) (*Undone, error) {
	file := settings
	if file == "" {
		file = c.File(m)
	}
	if file == "" {
		return nil, fmt.Errorf("%w: %s has no configuration file", ErrNothing, c.Title)
	}
	real, now, err := readThrough(file)
	if err != nil {
		return nil, err
	}
	rec, ok := readRecord(real)
	if !ok || rec.Client != c.Name {
		return nil, fmt.Errorf("%w: acp-shim setup has not changed %s", ErrNothing, file)
	}
	u := &Undone{File: file}
	for _, ch := range rec.Changes {
		u.Entries = append(u.Entries, ch.Path[len(ch.Path)-1])
	}
	if now == nil {
		forget(real)
		u.Removed = true
		return u, nil
	}
	if rec.SHA256 != "" && hash(now) == rec.SHA256 && (rec.New || isThere(real+backupEnd)) {
		return u, restore(u, real, rec)
	}
	return u, c.takeOut(u, real, now, rec)
}

// restore puts the whole file back.
func restore(u *Undone, real string, rec record) error {
	u.Whole = true
	if rec.New {
		u.Removed = true
		if err := os.Remove(real); err != nil {
			return fmt.Errorf("removing %s: %w", u.File, textfile.Reason(err))
		}
		forget(real)
		return nil
	}
	text, err := textfile.Read(real + backupEnd)
	if err != nil {
		return fmt.Errorf("reading the backup %s: %w", real+backupEnd, textfile.Reason(err))
	}
	if err := rewrite(u.File, real, text); err != nil {
		return err
	}
	forget(real)
	return nil
}

func rewrite(file, real string, text []byte) error {
	st, err := os.Stat(real)
	if err != nil {
		return fmt.Errorf("reading %s: %w", file, textfile.Reason(err))
	}
	if st.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s is read-only (mode %04o); it was not touched", file, st.Mode().Perm())
	}
	return writeFile(real, text, st.Mode().Perm())
}

// takeOut takes the changes out of a file that others have changed since.
func (c *Client) takeOut(u *Undone, real string, now []byte, rec record) error {
	d, err := parse(u.File, now, !c.shape.lenient)
	if err != nil {
		return err
	}
	for i := len(rec.Changes) - 1; i >= 0; i-- {
		ch := rec.Changes[i]
		name := ch.Path[len(ch.Path)-1]
		text, there := d.raw(ch.Path)
		if !there {
			continue // somebody took it out
		}
		if !sameJSON(text, ch.Is) {
			return fmt.Errorf("%q in %s was changed since acp-shim setup wrote it, so that it was not touched; put it back by hand: the file as it was is %s", name, u.File, real+backupEnd)
		}
		if ch.Was != "" {
			_, err = d.put(ch.Path, rawJSON(ch.Was))
		} else {
			err = d.takeAway(ch.Path, ch.Made)
		}
		if err != nil {
			return err
		}
	}
	if !bytes.Equal(d.bytes(), now) {
		if err := rewrite(u.File, real, d.bytes()); err != nil {
			return err
		}
	}
	forget(real)
	return nil
}

// takeAway removes a member, and the objects that were made around it as far as
// they are empty.
func (d *document) takeAway(path []string, made int) error {
	if err := d.remove(path); err != nil {
		return err
	}
	for i := 1; i <= made; i++ {
		around := path[:len(path)-i]
		v, _, _, _, err := d.find(around)
		if err != nil || v == nil {
			return err
		}
		obj, ok := v.Value.(*hujson.Object)
		if !ok || len(obj.Members) > 0 || len(bytes.TrimSpace(obj.AfterExtra)) > 0 {
			return nil
		}
		if err := d.remove(around); err != nil {
			return err
		}
	}
	return nil
}

// sameJSON compares two values without blanks and comments.
func sameJSON(a, b string) bool {
	plain := func(s string) []byte {
		std, err := hujson.Standardize([]byte(s))
		var out bytes.Buffer
		if err != nil || json.Compact(&out, std) != nil {
			return []byte(s)
		}
		return out.Bytes()
	}
	return bytes.Equal(plain(a), plain(b))
}

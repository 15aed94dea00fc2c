package conversation

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Program is the program sqlite3.
type Program struct {
	Path, Version string
}

// ErrNoProgram is that there is no program sqlite3 that could do it.
var ErrNoProgram = errors.New("the program sqlite3 is needed")

// VACUUM INTO came with SQLite 3.27.0 (2019-02-07).
const oldestMinor = 27

// FindProgram finds sqlite3 on PATH.
func FindProgram(ctx context.Context) (Program, error) {
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		return Program{}, fmt.Errorf("%w, and is not on PATH", ErrNoProgram)
	}
	out, err := exec.CommandContext(ctx, path, "-init", os.DevNull, "-version").Output()
	if err != nil {
		return Program{}, fmt.Errorf("%w: %s -version failed: %w", ErrNoProgram, path, err)
	}
	m := regexp.MustCompile(`^(\d+)\.(\d+)(\.\d+)?\b`).FindSubmatch(out)
	if m == nil {
		return Program{}, fmt.Errorf("%w: %s -version says %q", ErrNoProgram, path, firstLine(string(out)))
	}
	major, _ := strconv.Atoi(string(m[1]))
	minor, _ := strconv.Atoi(string(m[2]))
	if major < 3 || major == 3 && minor < oldestMinor {
		return Program{}, fmt.Errorf("%w in version 3.%d or later: %s is %s, which has no VACUUM INTO to make a copy with", ErrNoProgram, oldestMinor, path, m[0])
	}
	return Program{path, string(m[0])}, nil
}

// connection is a run of the program on one database. Its statements are its
// standard input, so that one connection, with its locks and its transaction,
// lasts over all of them. The program stops at the first error, and what it has
// not committed then is undone.
type connection struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	said   bytes.Buffer
	end    string // a line that no statement gives
	failed error
	ended  bool
}

// connect opens a database that is there.
func (p Program) connect(ctx context.Context, database string, flags ...string) (*connection, error) {
	nonce := make([]byte, 12)
	rand.Read(nonce)
	c := &connection{end: "end " + hex.EncodeToString(nonce)}
	// A file of the user's with commands in it is not read: -init names another.
	args := append([]string{"-batch", "-bail", "-init", os.DevNull, "-noheader", "-list"}, flags...)
	c.cmd = exec.CommandContext(ctx, p.Path, append(args, database)...)
	c.cmd.WaitDelay = 5 * time.Second
	c.cmd.Stderr = &c.said
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReaderSize(out, 1<<16)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.Path, err)
	}
	return c, nil
}

// each runs a statement and gives row every part of every line it gives; last
// tells that the line ends there. The statement is one line, so that nothing in
// it can be taken for a command of the program's.
func (c *connection) each(sql string, row func(part []byte, last bool)) error {
	if c.failed != nil {
		return c.failed
	}
	if strings.ContainsAny(sql, "\n\r\x00") {
		return fmt.Errorf("a statement of more than one line: %q", sql)
	}
	if _, err := fmt.Fprintf(c.in, "%s;\nSELECT '%s';\n", sql, c.end); err != nil {
		return c.fail()
	}
	for begins := true; ; {
		part, err := c.out.ReadSlice('\n')
		last := err == nil
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return c.fail()
		}
		part = bytes.TrimRight(part, "\r\n")
		if begins && last && string(part) == c.end {
			return nil
		}
		begins = last
		row(part, last)
	}
}

// lines runs a statement that gives a few short lines.
func (c *connection) lines(sql string) (list []string, err error) {
	line := ""
	err = c.each(sql, func(part []byte, last bool) {
		line += string(part)
		if last {
			list = append(list, line)
			line = ""
		}
	})
	return list, err
}

func (c *connection) run(sql string) error {
	return c.each(sql, func([]byte, bool) {})
}

// count runs a statement that gives one number.
func (c *connection) count(sql string) (int, error) {
	list, err := c.lines(sql)
	if err != nil {
		return 0, err
	}
	if len(list) != 1 {
		return 0, fmt.Errorf("sqlite3 gave %d lines for %s", len(list), sql)
	}
	return strconv.Atoi(list[0])
}

// fail ends the program after an error and says which one it was.
func (c *connection) fail() error {
	err := c.close()
	if c.failed == nil {
		c.failed = &sqlError{said: firstLine(c.said.String()), exit: err}
	}
	return c.failed
}

// close ends the program, and with it a transaction that is open.
func (c *connection) close() error {
	if c.ended {
		return nil
	}
	c.ended = true
	c.in.Close()
	io.Copy(io.Discard, c.out)
	return c.cmd.Wait()
}

// sqlError is what sqlite3 said when it stopped.
type sqlError struct {
	said string
	exit error
}

func (e *sqlError) Error() string {
	switch {
	case e.said != "":
		return "sqlite3: " + e.said + e.hint()
	case e.exit != nil:
		return "sqlite3 stopped: " + e.exit.Error()
	}
	return "sqlite3 stopped and did not say why"
}

// hint says what to do about the errors that a user can do something about.
func (e *sqlError) hint() string {
	for _, h := range [][2]string{
		{"database is locked", "another process works with it: end the agent, and the editor that started it, and try again"},
		{"disk is full", "make room for a copy of the conversation, and try again"},
		{"disk I/O error", "see whether the disk is full or failing"},
		{"readonly database", "the file, or its directory, cannot be written by this user"},
		{"unable to open", "the file, or its directory, cannot be opened by this user"},
		{"malformed", "it is damaged in another way than by a half-written checkpoint, and this does not mend that; see the command .recover of sqlite3"},
		{"not a database", "it is damaged, or encrypted"},
		{"no such module", "this sqlite3 lacks an extension that the conversation needs"},
		{"too big", "a value in it is larger than sqlite3 can show"},
	} {
		if strings.Contains(e.said, h[0]) {
			return "; " + h[1]
		}
	}
	return ""
}

// text is an SQL expression for a text, whatever is in it.
func text(s string) string { return fmt.Sprintf("CAST(x'%x' AS TEXT)", s) }

// name is an SQL identifier.
func name(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

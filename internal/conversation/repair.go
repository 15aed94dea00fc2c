package conversation

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Repair mends one conversation. The caller sees to it that no shim uses the
// session meanwhile.
type Repair struct {
	File File
	// Unowned tells that the user has made sure that no process has the database
	// open; it counts only where that cannot be seen.
	Unowned bool
	// DryRun only says what would be done.
	DryRun bool
	// Step is told every step that was done, in a line.
	Step func(line string)
	// Patience is how long another process may have the database locked.
	Patience time.Duration

	// beforeCommit is where a test lets things go wrong.
	beforeCommit func(*connection) error
}

// InUse is the error that processes have a database open.
type InUse struct {
	Path string
	PIDs []int
}

func (e *InUse) Error() string {
	pids := strings.Trim(fmt.Sprint(e.PIDs), "[]")
	return fmt.Sprintf("%s is open in another process (pid %s): mending it now would damage it; end the agent, and the editor that started it, and try again", e.Path, pids)
}

// Run carries the mend out. On an error the conversation is as it was, and where
// there is a copy already the error says where.
func (r Repair) Run(ctx context.Context) error {
	if err := r.unused(ctx); err != nil {
		return err
	}
	program, err := FindProgram(ctx)
	if err != nil {
		return err
	}
	r.step("program: %s, version %s", program.Path, program.Version)
	if r.DryRun {
		return r.look(ctx, program)
	}
	c, err := r.own(ctx, program, r.File)
	if err != nil {
		return fmt.Errorf("opening %s: %w", r.File.Path, err)
	}
	defer c.close()
	if err := c.knownSchema(); err != nil {
		return fmt.Errorf("%s: %w", r.File.Path, err)
	}
	if err := c.sound(); err != nil {
		return fmt.Errorf("%s is damaged in another way than by a half-written checkpoint, and was not touched: %w", r.File.Path, err)
	}
	path, err := c.makeCopy(r.File)
	if err != nil {
		return fmt.Errorf("no copy could be made beside %s, so that nothing was changed: %w", r.File.Path, err)
	}
	expected, err := r.compare(ctx, program, c, path)
	if err != nil {
		os.Remove(path)
		return fmt.Errorf("the copy is not like the original, so that it was removed and nothing was changed: %w", err)
	}
	n, err := c.halfWritten()
	if err != nil {
		return fmt.Errorf("reading the steps: %w; nothing was changed, and the copy stays at %s", err, path)
	}
	if n == 0 {
		if err := c.close(); err != nil {
			return fmt.Errorf("closing the database: %w; nothing was changed, and the copy stays at %s", err, path)
		}
		os.Remove(path)
		r.step("found: no step with status %d; nothing needs mending, and the copy was removed", halfWritten)
		return nil
	}
	r.step("found: %s with status %d", plural(n, "step"), halfWritten)
	if err := r.mend(c, n, expected); err != nil {
		return fmt.Errorf("the mend was taken back, and the conversation is as it was: %w; a copy of it is %s", err, path)
	}
	if err := c.run("COMMIT"); err != nil {
		return fmt.Errorf("the mend could not be kept: %w; repair it again to see how it is now; a copy from before is %s", err, path)
	}
	if err := c.close(); err != nil {
		return fmt.Errorf("the mend was written, but sqlite3 did not end well: %w; if the session does not load, a copy from before is %s", err, path)
	}
	r.step("mended: %s, and nothing else was changed; the copy from before stays at %s", plural(n, "step"), path)
	return nil
}

func (r Repair) step(format string, args ...any) {
	if r.Step != nil {
		r.Step(fmt.Sprintf(format, args...))
	}
}

// unused sees to it that no process has the database open.
func (r Repair) unused(ctx context.Context) error {
	pids, err := r.File.Owners(ctx)
	switch {
	case len(pids) > 0:
		return &InUse{r.File.Path, pids}
	case err != nil && !r.Unowned:
		return fmt.Errorf("%s: %w; end every agent and editor that could use it, and say --unowned", r.File.Path, err)
	case err != nil:
		r.step("open: %v; taken on your word", err)
	default:
		r.step("open: in no process")
	}
	return nil
}

// own opens the database for this connection alone. SQLite grants that only while
// no other connection to the file exists, in whatever process: it is the second
// look at who has it, and keeps away who comes meanwhile.
func (r Repair) own(ctx context.Context, p Program, f File) (*connection, error) {
	c, err := p.connect(ctx, f.Path)
	if err != nil {
		return nil, err
	}
	patience := r.Patience
	if patience == 0 {
		patience = 5 * time.Second
	}
	for _, sql := range []string{
		fmt.Sprintf("PRAGMA busy_timeout = %d", patience.Milliseconds()),
		"PRAGMA locking_mode = EXCLUSIVE",
		"BEGIN EXCLUSIVE",
		"COMMIT",
	} {
		if err := c.run(sql); err != nil {
			c.close()
			return nil, err
		}
	}
	return c, nil
}

// compare holds the copy against the original, and returns what the original
// should hold once it is mended.
func (r Repair) compare(ctx context.Context, p Program, c *connection, path string) (content, error) {
	r.step("copy: %s%s", path, size(path))
	have, expected, err := inspect(ctx, p, path)
	if err != nil {
		return nil, fmt.Errorf("the copy: %w", err)
	}
	original, err := c.read(false)
	if err != nil {
		return nil, err
	}
	if d := original.differences(have); d != "" {
		return nil, fmt.Errorf("they differ in %s", d)
	}
	r.step("compared: the copy is sound and like the original, %s with %s", plural(original.tables(), "table"), plural(original.rows(), "row"))
	return expected, nil
}

// mend changes n rows in a transaction, which is to be kept only if it has done
// that and nothing else. After an error the connection is closed without, and
// SQLite takes it back.
func (r Repair) mend(c *connection, n int, expected content) error {
	if err := c.run("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := c.run(fmt.Sprintf("UPDATE %s SET %s = %d WHERE %s = %d", stepsTable, statusColumn, written, statusColumn, halfWritten)); err != nil {
		return err
	}
	changed, err := c.count("SELECT changes()")
	if err != nil {
		return err
	}
	if r.beforeCommit != nil {
		if err := r.beforeCommit(c); err != nil {
			return err
		}
	}
	if changed != n {
		return fmt.Errorf("%d rows were changed where it should be %d", changed, n)
	}
	now, err := c.read(false)
	if err != nil {
		return err
	}
	if d := now.differences(expected); d != "" {
		return fmt.Errorf("it would have changed more than that: %s", d)
	}
	return c.sound()
}

// look says what would be done, from a copy elsewhere that is thrown away.
func (r Repair) look(ctx context.Context, p Program) error {
	s, remove, err := scratch(r.File)
	if err != nil {
		return fmt.Errorf("copying the conversation for a look: %w", err)
	}
	defer remove()
	c, err := r.own(ctx, p, s)
	if err != nil {
		return fmt.Errorf("opening a copy of %s: %w", r.File.Path, err)
	}
	defer c.close()
	if err := c.knownSchema(); err != nil {
		return fmt.Errorf("%s: %w", r.File.Path, err)
	}
	if err := c.sound(); err != nil {
		return fmt.Errorf("%s is damaged in another way than by a half-written checkpoint: %w", r.File.Path, err)
	}
	n, err := c.halfWritten()
	if err != nil {
		return err
	}
	if n == 0 {
		r.step("found: no step with status %d; nothing needs mending", halfWritten)
		return nil
	}
	r.step("found: %s with status %d", plural(n, "step"), halfWritten)
	r.step("would make the copy %s, compare it, and set the status of %s to %d", filepath.Base(copyName(r.File, time.Now())), plural(n, "step"), written)
	return nil
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func size(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%d kB)", (info.Size()+1023)/1024)
}

// ByHand are the commands, for a shell, that do the same.
func (f File) ByHand() []string {
	base := filepath.Base(f.Path)
	if strings.HasPrefix(base, "-") {
		base = "./" + base // else an option
	}
	saved := base + ".before-repair"
	return []string{
		"cd " + shellWord(filepath.Dir(f.Path)),
		"sqlite3 " + shellWord(base) + " " + shellWord("VACUUM INTO '"+strings.ReplaceAll(saved, "'", "''")+"'"),
		"sqlite3 " + shellWord(saved) + " 'PRAGMA integrity_check'",
		fmt.Sprintf("sqlite3 %s 'UPDATE %s SET %s=%d WHERE %s=%d'", shellWord(base), stepsTable, statusColumn, written, statusColumn, halfWritten),
	}
}

// shellWord quotes a text so that a shell has it as it is, and a terminal shows
// it.
func shellWord(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(text) {
		quoted := strconv.QuoteToASCII(text)
		quoted = strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
		return "$'" + strings.ReplaceAll(quoted, "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

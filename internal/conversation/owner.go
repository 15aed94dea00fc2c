package conversation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// ErrCannotTell is that no way is known here to see who has a file open.
var ErrCannotTell = errors.New("it cannot be told here which processes have a file open")

// Owners are the processes that have the database, or what SQLite keeps beside
// it, open.
func (f File) Owners(ctx context.Context) ([]int, error) {
	pids, err := procOwners(f.parts())
	if errors.Is(err, ErrCannotTell) {
		pids, err = lsofOwners(ctx, f.parts())
	}
	slices.Sort(pids)
	return slices.Compact(pids), err
}

// lsofOwners asks the program lsof. It exits with 1 both if nobody has the files
// and if it failed; then it has said something.
func lsofOwners(ctx context.Context, paths []string) ([]int, error) {
	program, err := exec.LookPath("lsof")
	if err != nil {
		return nil, fmt.Errorf("%w: there is no lsof", ErrCannotTell)
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"-w", "-t", "--"}, paths...)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	var pids []int
	for _, word := range strings.Fields(out.String()) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("%w: lsof says %q", ErrCannotTell, word)
		}
		pids = append(pids, pid)
	}
	if err != nil && len(pids) == 0 {
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 || said.Len() > 0 {
			return nil, fmt.Errorf("%w: lsof failed: %v: %s", ErrCannotTell, err, firstLine(said.String()))
		}
	}
	return pids, nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

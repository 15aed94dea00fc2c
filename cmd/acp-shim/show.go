package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"strconv"
	"time"

	"golang.org/x/term"

	"acp-shim/internal/show"
	"acp-shim/internal/trace"
	"acp-shim/record"
)

// showCmd prints a capture, one line a frame.
type showCmd struct {
	File    []string      `arg:"" help:"A capture, or the files of one run in their order; - is standard input."`
	Method  []string      `placeholder:"GLOB" help:"Only these methods, kinds of update or events, such as 'session/*' or tool_call."`
	Session string        `placeholder:"PREFIX" help:"Only this session."`
	From    string        `placeholder:"PEER" help:"Only what client, shim, agent or agent#N has sent."`
	Errors  bool          `help:"Only what went wrong."`
	Slow    time.Duration `placeholder:"TIME" help:"Only answers that took that long, such as 500ms."`
	Where   string        `placeholder:"QUERY" help:"Only frames in which a gjson query finds something that is not false, such as 'params.update.status==\"failed\"'."`
	Seq     string        `placeholder:"A-B" help:"Only these seqs. 17, 10- and --seq=-20 will do, too."`
	NoFold  bool          `help:"Show each chunk of a stream."`
	Full    bool          `help:"Show the frames themselves, too."`
	Follow  bool          `short:"f" help:"Go on while the capture is written."`
	JSON    bool          `name:"json" help:"Print a JSON object a line."`
}

func (c showCmd) Run() error {
	filter := show.Filter{Methods: c.Method, Session: c.Session, From: c.From, Errors: c.Errors, Slow: c.Slow, Where: c.Where, Seq: c.Seq}
	wanted, err := filter.Compile()
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(stdout, 64<<10)
	defer out.Flush()
	folder := &show.Folder{}
	var entries iter.Seq2[record.Entry, error]
	if c.Follow {
		if len(c.File) != 1 {
			return errors.New("only one capture can be followed; name the one that is written")
		}
		if c.File[0] != fromStdin {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			entries = show.Follow(ctx, c.File[0], func(long bool) {
				if long {
					folder.Flush()
				}
				out.Flush()
			})
		}
	}
	if entries == nil {
		entries = captures(c.File, false)
	}
	var each func(*trace.Record) error
	see := func(*trace.Record) {}
	if c.JSON {
		each = jsonLines(out, c.Full)
	} else {
		l := newLayout(out, filter.Any(), c.Full)
		folder.Emit, see = l.row, l.titles.See
		each = func(r *trace.Record) error {
			if c.NoFold || c.Full {
				l.row(&show.Row{Record: r, Count: 1, Last: r.T})
			} else {
				folder.Add(r)
			}
			return l.err
		}
	}
	if err := records(entries, &damage{}, func(r *trace.Record) error {
		see(r)
		if r.Kind != trace.Header && !wanted(r) {
			return nil
		}
		return each(r)
	}); err != nil {
		return failed(err)
	}
	if folder.Emit != nil {
		folder.Flush()
	}
	return out.Flush()
}

// jsonLines prints records for programs.
func jsonLines(w io.Writer, whole bool) func(*trace.Record) error {
	return func(r *trace.Record) error { return printJSON(w, show.NewLine(r, whole)) }
}

// printJSON prints a value on a line.
func printJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing JSON: %w", err)
	}
	_, err := w.Write(escaped(b.Bytes()))
	return err
}

// narrowest is the terminal on which a line still fits.
const narrowest = 60

// columns is how many there are on the terminal.
func columns() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return max(n, narrowest)
	}
	if w, _, err := term.GetSize(int(stdout.Fd())); err == nil && w > 0 {
		return max(w, narrowest)
	}
	return 120
}

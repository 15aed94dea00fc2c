package record

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"acp-shim/proxy"
)

// Options are what a [Writer] is opened with. The zero value redacts, and keeps
// at most 64 MiB waiting for the disk.
type Options struct {
	// Raw keeps secrets. Such a capture gives back both byte streams exactly.
	Raw bool

	// Version is the shim's; Agent is a short name of the agent, which a file in
	// a directory is called by; Argv is its command line; Info is more about it,
	// a JSON object or nil. They stand in the header, Argv and Info redacted
	// like everything else.
	Version string
	Agent   string
	Argv    []string
	Info    []byte

	// Start is what times count from, as [time.Now] gave it; zero is now.
	Start time.Time
	// Clock tells the time; nil is [time.Now].
	Clock func() time.Time

	// MaxBlob is the longest text of base64 that is kept, in bytes, 0 for any. A
	// longer one, as of a picture, is replaced by a few words that say how many
	// bytes it stood for, their SHA-256, and their type where that stands beside
	// it.
	MaxBlob int

	// Secrets tells secrets that are known for certain. Wherever one shows up, in
	// a frame, in a line of stderr, as it is or in base64, JSON or a URL, it is
	// replaced. Those under eight bytes and common words are not looked for. The
	// function is called again and again, in a goroutine of the writer's, so it
	// must be quick and what it returns must not be changed. Nil is none. A raw
	// capture keeps them.
	Secrets func() [][]byte

	// RotateSize and RotateAge are when a file is closed and the run goes on in a
	// new one beside it, with a header of its own: at about so many bytes, or
	// with the first line that comes after so much time. 0 is never. Seqs and
	// times go on, see [Header.Part] and [Parts].
	RotateSize int64
	RotateAge  time.Duration
	// Compress compresses, with zstd, the captures that earlier runs have left in
	// the directory, and every file of this one once it is closed by rotation.
	// A file that was given by its name is compressed only then.
	Compress bool
	// KeepSize and KeepAge are how much is kept of the captures in the directory,
	// in bytes all together and by the time since the last was written to: the
	// oldest are removed. 0 is all. Only files that a Writer has named are
	// counted and removed, and none that somebody still writes to. For a file
	// that was given by its name they are those of its other parts, and of
	// other runs' parts of that name.
	KeepSize int64
	KeepAge  time.Duration

	// Queue is how many bytes may wait for the disk, 0 for 64 MiB. Beyond it
	// what comes is counted and becomes a gap. One frame is taken whatever its
	// size while at most half of them wait.
	Queue int

	// Warn is called in a goroutine of its own, and once at the most when something
	// cannot be written, or was lost. It also hears of a file that cannot be
	// compressed, or that no new one can be begun after; then nothing is lost.
	Warn func(error)

	// Strict asks for Stop to be called, once and in a goroutine of its own, as
	// soon as something cannot be written or was lost. The writer goes on
	// trying; it is for Stop to end the traffic.
	Strict bool
	Stop   func(error)
}

// DefaultQueue is how many bytes wait for the disk at most unless told otherwise.
const DefaultQueue = 64 << 20

const (
	// flushEvery is the time from the first byte of a batch to its write, and
	// so about what a SIGKILL loses.
	flushEvery = 10 * time.Millisecond
	// flushChunks is how many chunks may be full before the time is up.
	flushChunks = 2
)

// Writer writes a capture. It is a [proxy.Tap]: Frame and Event copy what they
// are given, or keep what nobody writes to again, and return; the flusher does the rest. All methods may be
// called at any time and from any goroutine; what comes after Close is dropped.
type Writer struct {
	path    atomic.Pointer[string]
	opt     Options
	start   time.Time
	keep    *keeper
	timer   *time.Timer
	wake    chan struct{} // → flusher: much is waiting
	closing chan struct{} // → flusher: closed by Close
	done    chan struct{} // closed by the flusher when it is gone
	warned  sync.Once
	stopped sync.Once
	flush   flusher
	err     error // of the whole, from when done is closed

	mu      sync.Mutex
	queue   queue
	seq     uint64 // of the last record
	last    int64  // its time
	armed   bool   // the timer will fire, or the flusher is awake
	closed  bool
	broken  bool   // nothing is recorded any more
	lost    Gap    // what was turned away since the last gap event
	trouble string // why nothing can be written, "" while it can
	summary []byte
}

var _ proxy.Tap = (*Writer)(nil)

// Create starts a capture in the file path, or in a new file in the directory path.
// A path is a directory when it is one or ends in a slash; its new file is
// named by time, process id and agent. A file that exists is appended to, with
// a header of its own; where another shim is writing to it, a new file beside
// it is begun instead, see [Writer.Path]. Files have mode 0600 and directories
// that have to be made 0700. A symbolic link is not followed.
//
// Create fails where the file cannot be opened. A disk that is full does not make
// it fail: that is told through Warn, like every later trouble.
func Create(path string, opt Options) (*Writer, error) {
	if opt.Strict && opt.Stop == nil {
		return nil, errors.New("a strict capture needs a function that stops the traffic")
	}
	if opt.Start.IsZero() {
		opt.Start = now(opt.Clock)
	}
	f, at, shelf, err := create(path, opt)
	if err != nil {
		return nil, err
	}
	return newWriterOn(shelf, f, at, opt, shelf.open), nil
}

func now(clock func() time.Time) time.Time {
	if clock != nil {
		return clock()
	}
	return time.Now()
}

// newWriter writes to one file.
func newWriter(f file, path string, opt Options) *Writer {
	return newWriterOn(&shelf{}, f, path, opt, nil)
}

// newWriterOn writes to a file, and to those that open makes after it.
func newWriterOn(s *shelf, f file, path string, opt Options, open func(n int) (file, string, error)) *Writer {
	if opt.Queue <= 0 {
		opt.Queue = DefaultQueue
	}
	w := &Writer{
		opt: opt, start: opt.Start, keep: newKeeper(s, opt),
		timer: time.NewTimer(time.Hour),
		wake:  make(chan struct{}, 1), closing: make(chan struct{}), done: make(chan struct{}),
		queue: queue{max: opt.Queue},
	}
	w.timer.Stop()
	w.path.Store(&path)
	w.flush = flusher{
		w: w, file: f, run: newRun(), part: parts{n: 1, open: open},
		alike: alike{raw: opt.Raw, patience: 1}, clean: cleaner{raw: opt.Raw, maxBlob: opt.MaxBlob},
	}
	if open != nil {
		w.keep.start()
	}
	go w.flush.flush()
	return w
}

// newRun is a name by which the parts of one run are known.
func newRun() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// Path is the file that the capture is written to now.
func (w *Writer) Path() string {
	if p := w.path.Load(); p != nil {
		return *p
	}
	return ""
}

// Frame records a frame.
func (w *Writer) Frame(f *proxy.Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	apart := 0
	if f.Own {
		apart = len(f.Bytes)
	}
	if c := w.begin(frameSize(f), apart, Gap{Frames: 1, Bytes: uint64(len(f.Bytes))}); c != nil {
		if f.Own {
			w.queue.apart = append(w.queue.apart, f.Bytes)
		}
		w.commit(appendFrame(c, w.seq, w.at(f), f))
	}
}

// Event records an event.
func (w *Writer) Event(e *proxy.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.begin(eventSize(e), 0, Gap{Events: 1, Bytes: uint64(len(e.Text) + len(e.Data))}); c != nil {
		w.commit(appendEvent(c, w.seq, w.since(), e))
	}
}

// begin takes a seq and makes room for what it numbers. Where there is none, or
// the writer is closed, it returns nil; the former is counted as lost.
func (w *Writer) begin(size, apart int, lost Gap) []byte {
	if w.closed || w.broken {
		return nil
	}
	var c []byte
	if w.gap() {
		c = w.queue.reserve(size, apart)
	}
	w.seq++
	if c == nil {
		w.lose(lost)
	}
	return c
}

// gap puts a gap event in the queue where something was turned away. It reports
// false while there is no room even for that.
func (w *Writer) gap() bool {
	if !w.lost.any() {
		return true
	}
	c := w.queue.reserve(gapSize(&w.lost), 0)
	if c == nil {
		return false
	}
	w.seq++
	w.commit(appendGap(c, w.seq, w.since(), &w.lost))
	w.lost = Gap{}
	return true
}

// lose counts the record with the newest seq as turned away.
func (w *Writer) lose(g Gap) {
	g.First, g.Last = w.seq, w.seq
	g.Why = w.trouble
	if g.Why == "" {
		g.Why = "the disk is too slow"
	}
	if !w.lost.any() {
		w.warn(errors.New(g.Why + ": frames are missing from now on"))
	}
	w.lost.add(g)
}

// warn tells about trouble, once. It is called under locks, and the functions
// that it calls may want them.
func (w *Writer) warn(err error) {
	err = fmt.Errorf("recording to %s: %w", w.Path(), err)
	if w.opt.Warn != nil {
		w.warned.Do(func() { go w.opt.Warn(err) })
	}
	if w.opt.Strict {
		w.stopped.Do(func() { go w.opt.Stop(err) })
	}
}

// tell warns of what loses nothing.
func (w *Writer) tell(err error) {
	if w.opt.Warn != nil {
		go w.opt.Warn(fmt.Errorf("recording to %s: %w", w.Path(), err))
	}
}

// commit puts a record in the queue and sees to it that the flusher comes.
func (w *Writer) commit(c []byte) {
	w.queue.commit(c)
	if !w.armed {
		w.armed = true
		w.timer.Reset(flushEvery)
	}
	if len(w.queue.chunks) > flushChunks {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// SetSummary keeps a JSON value for the capture's last event. The last one that
// was set before Close counts.
func (w *Writer) SetSummary(json []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.summary = append(w.summary[:0], json...)
}

// since is the time since the start. It is taken under the lock, so that times
// never go back.
func (w *Writer) since() int64 {
	t := now(w.opt.Clock)
	w.last = max(w.last, int64(t.Sub(w.start)))
	return w.last
}

// at is when a frame came, or the time now where nobody says.
func (w *Writer) at(f *proxy.Frame) int64 {
	if w.opt.Clock != nil || f.At == nil {
		return w.since()
	}
	// An event of somebody else's may have got between.
	w.last = max(w.last, int64(f.At().Sub(w.start)))
	return w.last
}

// Close writes what is waiting and the last event, syncs the file and closes it.
// It waits for as long as the disk takes, and returns an error where something
// was lost for good. Calling it again waits for the same end.
func (w *Writer) Close() error { return w.Shutdown(context.Background()) }

// Shutdown is Close that gives up waiting when ctx is done. The flusher then goes
// on for as long as the process lives.
func (w *Writer) Shutdown(ctx context.Context) error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.closing)
	}
	w.mu.Unlock()
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return fmt.Errorf("the capture %s was left unfinished, its disk is slow: %w", w.Path(), ctx.Err())
	}
}

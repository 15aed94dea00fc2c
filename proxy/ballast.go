package proxy

import "time"

// ballast gives memory back to the system when a busy time is over: the shim lives as
// long as an editor, and a large frame, or a thousand small ones a second, may come once.
// What the runtime does of itself keeps room for as much as was used at last. All of it
// belongs to the loop's lock.
type ballast struct {
	moved int // bytes since memory was last given back
	seen  int // of them, when it was last looked
	timer *time.Timer
	// step runs a function under the lock; give is called without it, since it takes
	// milliseconds.
	step func(func())
	give func()
}

const (
	// heavy is how much was moved, or has waited, after which memory is given back.
	heavy = 4 << 20
	// calm is how little is moved in lightenAfter once the busy time is over, or a 64th
	// of all: what trickles on after a flood must not keep the flood's memory.
	calm         = 64 << 10
	lightenAfter = 500 * time.Millisecond
)

// weigh counts what was read, or has waited.
func (b *ballast) weigh(size int) {
	b.moved += size
	if b.timer == nil && b.moved >= heavy {
		b.seen = b.moved
		b.timer = time.AfterFunc(lightenAfter, b.look)
	}
}

// look gives memory back unless the busy time goes on.
func (b *ballast) look() {
	calmed := false
	b.step(func() {
		if calmed = b.moved-b.seen < max(calm, b.moved/64); calmed {
			b.moved, b.timer = 0, nil
			return
		}
		b.seen = b.moved
		b.timer.Reset(lightenAfter)
	})
	if calmed {
		b.give()
	}
}

func (b *ballast) stop() {
	if b.timer != nil {
		b.timer.Stop()
	}
}

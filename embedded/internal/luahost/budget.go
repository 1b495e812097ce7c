package luahost

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// loadSteps is how many instructions the top level of a library may take, which Redis bounds by 500 ms. The clock does not decide,
// because on a busy machine a good library may take longer.
const loadSteps = 1_000_000

const (
	killedText  = "Script killed by user with SCRIPT KILL..."
	timeoutText = "FUNCTION LOAD timeout"
)

// budget makes a running call stoppable. To the interpreter it is a context whose
// taken is how many steps a call took, and above its limit if that stopped it.
func (b *budget) taken() int {
	if b.stopped != "" {
		return int(b.most) + 1
	}
	return int(b.steps)
}

// Done is asked before each instruction; it counts these and looks at the flag
// and the clock only now and then, so an instruction pays for a counter.
//
// Once it stops a call it stops every further instruction, so that a pcall in
// the script cannot catch it and go on.
type budget struct {
	steps   uint32
	most    uint32 // steps; 0: any number
	over    string // what to say when they are over
	stopped string // why, empty while running
	killed  atomic.Bool

	// slow is called once the call has run for slowAfter, between two instructions.
	slow      func()
	slowAfter time.Duration // 0: never
	slowAt    time.Time     // zero: not known before the first look
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// start begins a call or a load, which takes at most so many steps; over says what stopped it then.
func (b *budget) start(most uint32, over string) {
	b.steps, b.most, b.over, b.stopped = 0, most, over, ""
	b.slowAt = time.Time{}
	b.killed.Store(false)
}

// Done is asked before each instruction.
func (b *budget) Done() <-chan struct{} {
	if b.steps++; b.steps&0x3ff != 0 {
		return nil
	}
	return b.look()
}

func (b *budget) look() <-chan struct{} {
	switch {
	case b.stopped != "":
	case b.killed.Load():
		b.stopped = killedText
	case b.most > 0 && b.steps > b.most:
		b.stopped = b.over
	default:
		if b.slowAfter > 0 {
			b.lookAtClock()
		}
		return nil
	}
	b.steps = 0x3ff // look again before the next instruction
	return closed
}

func (b *budget) lookAtClock() {
	switch now := time.Now(); {
	case b.slowAt.IsZero():
		b.slowAt = now.Add(b.slowAfter)
	case now.After(b.slowAt):
		b.slowAfter = 0
		b.slow()
	}
}

// Err, Deadline and Value complete the context.
func (b *budget) Err() error { return errors.New(b.stopped) }

// Deadline returns none.
func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }

// Value holds nothing.
func (b *budget) Value(any) any { return nil }

var _ context.Context = (*budget)(nil)

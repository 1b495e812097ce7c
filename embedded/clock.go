package embedded

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A Clock returns a server's time.
type Clock interface{ Now() time.Time }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

// A ManualClock is a Clock that only Set and Advance move. It is safe for concurrent use.
type ManualClock struct {
	mu  sync.Mutex
	now time.Time

	moved map[*func()]struct{} // called after each change
}

// NewManualClock returns a clock set to t.
func NewManualClock(t time.Time) *ManualClock { return &ManualClock{now: t} }

// Now returns the time of the clock.
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the clock to t, forward or back.
func (c *ManualClock) Set(t time.Time) {
	c.move(func() { c.now = t })
}

// Advance moves the clock by d, back if d is negative.
func (c *ManualClock) Advance(d time.Duration) {
	c.move(func() { c.now = c.now.Add(d) })
}

func (c *ManualClock) move(how func()) {
	c.mu.Lock()
	how()
	moved := slices.Collect(maps.Keys(c.moved))
	c.mu.Unlock()
	for _, f := range moved {
		(*f)()
	}
}

// subscribe has f called after each change, until the function that it returns is called.
func (c *ManualClock) subscribe(f func()) (unsubscribe func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moved == nil {
		c.moved = make(map[*func()]struct{})
	}
	c.moved[&f] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.moved, &f)
	}
}

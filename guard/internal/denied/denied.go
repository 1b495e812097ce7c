// Package denied remembers refusals in this process, within one bound, until they end or something was given back.
package denied

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
)

// A Key is what a refusal holds for: another weight or estimate may pass where this one did not. A plan, or a row of one, is of one
// policy, so a policy that is replaced leaves no refusal behind.
type Key struct {
	Of       any // a pointer to a plan or a row
	Subject  string
	Weight   int64
	Estimate fcall.Micros
	Times    string // how many times its limits and budgets it had
	Receipt  string // one that passes also where its subject is refused by now
}

// A Cache keeps refusals, and receipts that this process has admitted. A nil Cache keeps nothing. It is safe for concurrent use.
type Cache[R any] struct {
	entries  *otter.Cache[Key, *entry[R]]
	most     time.Duration
	seed     maphash.Seed
	last     atomic.Int64           // when nothing is kept any more
	released [released]atomic.Int64 // when something was last given back, by the hash of whose it was
}

// released is how many moments are kept: subjects that share one only forget more than they must.
const released = 4096

type entry[R any] struct {
	refusal  R
	concerns []string      // the subjects of which something that is given back makes it untrue
	at       moment.Moment // when it was asked for
	until    moment.Moment
}

// New returns a cache of at most so many entries, which keeps refusals for a time at most.
func New[R any](entries int, most time.Duration) *Cache[R] {
	return &Cache[R]{
		most: most, seed: maphash.MakeSeed(),
		entries: otter.Must(&otter.Options[Key, *entry[R]]{
			MaximumSize: entries, Clock: otter.NewCoarseClock(10 * time.Millisecond), // when memory is freed; what holds is for until to say
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[Key, *entry[R]]) time.Duration {
				return e.Value.until.Since(moment.Now())
			}),
		}),
	}
}

// Empty reports whether nothing is kept at a moment, so that there is nothing to look up.
func (c *Cache[R]) Empty(at moment.Moment) bool {
	return c == nil || at >= moment.Moment(c.last.Load())
}

// set keeps an entry.
func (c *Cache[R]) set(key Key, e *entry[R]) {
	for last := c.last.Load(); last < int64(e.until) && !c.last.CompareAndSwap(last, int64(e.until)); last = c.last.Load() {
	}
	c.entries.Set(key, e)
}

// Find returns a refusal that still holds at a moment, and how old it is.
func (c *Cache[R]) Find(key Key, at moment.Moment) (refusal R, age time.Duration, ok bool) {
	if c == nil {
		return refusal, 0, false
	}
	e, ok := c.entries.GetIfPresent(key)
	if !ok || at >= e.until {
		return refusal, 0, false
	}
	for _, s := range e.concerns {
		if e.at <= c.lastReleased(s) {
			return refusal, 0, false
		}
	}
	return e.refusal, at.Since(e.at), true
}

// Add keeps a refusal that was asked for at a moment: counted from then, it ends no later than on the server. It is no longer true when
// something is given back to a subject that it concerns.
func (c *Cache[R]) Add(key Key, refusal R, concerns []string, at moment.Moment, wait time.Duration) {
	if c == nil || wait <= 0 {
		return
	}
	until := at.Add(min(wait, c.most))
	if moment.Now() < until {
		c.set(key, &entry[R]{refusal, concerns, at, until})
	}
}

// Admitted keeps a receipt that passed.
func (c *Cache[R]) Admitted(key Key, wait time.Duration) {
	if c != nil {
		now := moment.Now()
		c.set(key, &entry[R]{at: now, until: now.Add(wait)})
	}
}

// Passes reports whether a receipt was admitted here lately, so that only Redis may answer.
func (c *Cache[R]) Passes(key Key) bool {
	if c == nil {
		return false
	}
	_, ok := c.entries.GetIfPresent(key)
	return ok
}

// places are the two places where the last release of a subject is kept: another one hardly ever has both.
func (c *Cache[R]) places(subject string) [2]*atomic.Int64 {
	sum := maphash.String(c.seed, subject)
	return [2]*atomic.Int64{&c.released[sum%released], &c.released[sum/released%released]}
}

func (c *Cache[R]) lastReleased(subject string) moment.Moment {
	places := c.places(subject)
	return moment.Moment(min(places[0].Load(), places[1].Load()))
}

// Release forgets the refusals that were asked for up to now and concern a subject: something was given back to it.
func (c *Cache[R]) Release(subject string) {
	if c == nil {
		return
	}
	now := int64(moment.Now())
	for _, last := range c.places(subject) {
		for had := last.Load(); had < now && !last.CompareAndSwap(had, now); had = last.Load() {
		}
	}
}

// Close ends what the cache runs.
func (c *Cache[R]) Close() {
	if c != nil {
		c.entries.StopAllGoroutines()
	}
}

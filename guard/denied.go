package guard

import (
	"hash/maphash"
	"slices"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/rlfunc/rlfunc/fcall"
)

// deniedKey is what a refusal holds for: another weight or estimate may pass where this one did not. A plan, or a row of one, is of one
// policy, so a policy that is replaced leaves no refusal behind.
type deniedKey struct {
	of       any // *plan or *row
	subject  string
	weight   int64
	estimate fcall.Micros
}

// denied is a refusal as it was at a time.
type denied struct {
	decision *Decision
	at       moment // when the rows were asked for
	until    moment
}

// A denyCache remembers who was refused, until retry_after and within bounds.
type denyCache struct {
	refusals *otter.Cache[deniedKey, *denied]
	receipts *otter.Cache[receiptKey, time.Duration]
	most     time.Duration
	seed     maphash.Seed
	released [released]atomic.Int64 // when something was last given back, by the hash of whose it was
}

// released is how many moments are kept: subjects that share one only forget more than they must.
const released = 4096

// receiptKey is a receipt that this process has admitted for an endpoint: it passes again also where its subject is refused by now.
type receiptKey struct {
	plan             *plan
	subject, receipt string
}

func newDenyCache(size int, most time.Duration) *denyCache {
	clock := otter.NewCoarseClock(10 * time.Millisecond) // when memory is freed; what holds is told by until
	return &denyCache{
		most: most, seed: maphash.MakeSeed(),
		refusals: otter.Must(&otter.Options[deniedKey, *denied]{
			MaximumSize: size, Clock: clock,
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[deniedKey, *denied]) time.Duration {
				return e.Value.until.since(now())
			}),
		}),
		receipts: otter.Must(&otter.Options[receiptKey, time.Duration]{
			MaximumSize: size, Clock: clock,
			ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[receiptKey, time.Duration]) time.Duration {
				return e.Value
			}),
		}),
	}
}

// find fills in a refusal that still holds, as it is at a moment, unless something was given back to one of the subjects since.
func (c *denyCache) find(d *Decision, key deniedKey, subjects []string, at moment) bool {
	entry, ok := c.refusals.GetIfPresent(key)
	if !ok || at >= entry.until {
		return false
	}
	for _, s := range subjects {
		if s != "" && entry.at <= c.lastReleased(s) && entry.concerns(s) {
			return false
		}
	}
	*d = *entry.decision
	d.Cached = true
	d.Age = at.since(entry.at)
	d.RetryAfter -= d.Age
	return true
}

// concerns reports whether what is given back to a subject may make the refusal untrue: where keys are on several servers, each refusal
// by one limit gives back to the subjects of the others, which does not.
func (e *denied) concerns(subject string) bool {
	d := e.decision
	return subject == d.Refused || len(d.Budgets) > 0 || slices.ContainsFunc(d.Limits, func(l LimitState) bool {
		return l.Subject == subject && !l.Allowed && !l.Shadow
	})
}

// add remembers a refusal that was asked for at a time: counted from then, it ends no later than on the server.
func (c *denyCache) add(key deniedKey, d *Decision, at moment) {
	if c == nil || d.RetryAfter <= 0 {
		return
	}
	until := at.add(min(d.RetryAfter, c.most))
	if now() < until {
		c.refusals.Set(key, &denied{decision: d, at: at, until: until})
	}
}

// of are the two places where the last release of a bucket is kept: another bucket hardly ever has both.
func (c *denyCache) of(bucket string) [2]*atomic.Int64 {
	sum := maphash.String(c.seed, bucket)
	return [2]*atomic.Int64{&c.released[sum%released], &c.released[sum/released%released]}
}

func (c *denyCache) lastReleased(bucket string) moment {
	of := c.of(bucket)
	return moment(min(of[0].Load(), of[1].Load()))
}

// release forgets the refusals of a bucket that were asked for up to now: something was given back to it.
func (c *denyCache) release(bucket string) {
	if c == nil {
		return
	}
	now := int64(now())
	for _, last := range c.of(bucket) {
		for had := last.Load(); had < now && !last.CompareAndSwap(had, now); had = last.Load() {
		}
	}
}

// admitted notes a receipt that passed.
func (c *denyCache) admitted(pl *plan, subject, receipt string) {
	if c != nil && receipt != "" && pl.dedup > 0 {
		c.receipts.Set(receiptKey{pl, subject, receipt}, pl.dedup)
	}
}

// passes tells that a receipt was admitted here lately, so that only Redis may answer.
func (c *denyCache) passes(pl *plan, subject, receipt string) bool {
	if c == nil || receipt == "" {
		return false
	}
	_, ok := c.receipts.GetIfPresent(receiptKey{pl, subject, receipt})
	return ok
}

func (c *denyCache) close() {
	if c != nil {
		c.refusals.StopAllGoroutines()
		c.receipts.StopAllGoroutines()
	}
}

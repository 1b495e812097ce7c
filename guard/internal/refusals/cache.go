// Package refusals caches refusals and admitted receipts in this process.
package refusals

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// A Key identifies cached refusals. Scopes belong to one policy, so a new policy hits no old entries.
type Key struct {
	Scope   any // of an endpoint or a row
	Subject string
	Variant string // how its limits and budgets differ from the endpoint's
	Receipt string // of an admitted receipt
}

// A Cache caches refusals and admitted receipts. A nil Cache is empty. It is safe for concurrent use.
type Cache[R any] struct {
	entries    store
	maxTTL     time.Duration
	seed       maphash.Seed
	lastExpiry atomic.Int64              // when the last entry expires
	refundedAt [refundSlots]atomic.Int64 // last refund, by hash of the subject
}

// refundSlots is the number of refund times. Subjects that share both of their slots invalidate each other's entries.
const refundSlots = 4096

// A store is an otter.Cache. Packages that mention a Cache would compile all of otter's generic code again if its type were known.
type store interface {
	GetIfPresent(Key) (*entry, bool)
	Set(Key, *entry) (*entry, bool)
	Invalidate(Key) (*entry, bool)
	StopAllGoroutines() bool
}

type entry struct {
	refusal  any           // an R; nil in the entry of a receipt
	subjects []string      // a refund to one of them invalidates the entry
	askedAt  monotime.Time // when the decision began
	expires  monotime.Time
}

// New returns a cache of at most the given number of entries. It keeps refusals for at most maxTTL.
func New[R any](entries int, maxTTL time.Duration) *Cache[R] {
	return &Cache[R]{entries: newStore(entries), maxTTL: maxTTL, seed: maphash.MakeSeed()}
}

func newStore(entries int) store {
	return otter.Must(&otter.Options[Key, *entry]{
		MaximumSize: entries, Clock: otter.NewCoarseClock(10 * time.Millisecond), // frees memory; expires decides what is valid
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[Key, *entry]) time.Duration {
			return e.Value.expires.Since(monotime.Now())
		}),
	})
}

// Empty reports whether all entries have expired at a time.
func (c *Cache[R]) Empty(at monotime.Time) bool {
	return c == nil || at >= monotime.Time(c.lastExpiry.Load())
}

// set adds an entry.
func (c *Cache[R]) set(key Key, e *entry) {
	for last := c.lastExpiry.Load(); last < int64(e.expires) && !c.lastExpiry.CompareAndSwap(last, int64(e.expires)); last = c.lastExpiry.Load() {
	}
	c.entries.Set(key, e)
}

// Find returns a refusal that is valid at a time, and its age.
func (c *Cache[R]) Find(key Key, at monotime.Time) (refusal R, age time.Duration, ok bool) {
	if c == nil {
		return refusal, 0, false
	}
	e, ok := c.entries.GetIfPresent(key)
	if !ok || at >= e.expires {
		return refusal, 0, false
	}
	for _, s := range e.subjects {
		if e.askedAt <= c.lastRefund(s) {
			return refusal, 0, false
		}
	}
	refusal, _ = e.refusal.(R)
	return refusal, at.Since(e.askedAt), true
}

// Add caches a refusal. Its wait counts from the start of the decision, so the entry expires no later than the refusal in Redis. A refund
// to one of the subjects invalidates it.
func (c *Cache[R]) Add(key Key, refusal R, subjects []string, at monotime.Time, wait time.Duration) {
	if c == nil || wait <= 0 {
		return
	}
	expires := at.Add(min(wait, c.maxTTL))
	if monotime.Now() < expires {
		c.set(key, &entry{refusal, subjects, at, expires})
	}
}

// AddReceipt caches an admitted receipt.
func (c *Cache[R]) AddReceipt(key Key, wait time.Duration) {
	if c != nil {
		now := monotime.Now()
		c.set(key, &entry{askedAt: now, expires: now.Add(wait)})
	}
}

// HasReceipt reports whether this process admitted a receipt recently.
func (c *Cache[R]) HasReceipt(key Key) bool {
	if c == nil {
		return false
	}
	_, ok := c.entries.GetIfPresent(key)
	return ok
}

// ForgetReceipt removes an admitted receipt that Redis no longer admits.
func (c *Cache[R]) ForgetReceipt(key Key) { c.entries.Invalidate(key) }

// slots returns the two refund times of a subject. Two subjects rarely share both.
func (c *Cache[R]) slots(subject string) [2]*atomic.Int64 {
	sum := maphash.String(c.seed, subject)
	return [2]*atomic.Int64{&c.refundedAt[sum%refundSlots], &c.refundedAt[sum/refundSlots%refundSlots]}
}

func (c *Cache[R]) lastRefund(subject string) monotime.Time {
	slots := c.slots(subject)
	return monotime.Time(min(slots[0].Load(), slots[1].Load()))
}

// Invalidate removes the refusals of a subject after a refund.
func (c *Cache[R]) Invalidate(subject string) {
	if c == nil {
		return
	}
	now := int64(monotime.Now())
	for _, last := range c.slots(subject) {
		for had := last.Load(); had < now && !last.CompareAndSwap(had, now); had = last.Load() {
		}
	}
}

// Close stops the goroutines of the cache.
func (c *Cache[R]) Close() {
	if c != nil {
		c.entries.StopAllGoroutines()
	}
}

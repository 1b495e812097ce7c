package steps_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	leaseStep     = luatest.Step[*concurrency.Client]
	acquireParams = concurrency.AcquireParams
	acquireResult = concurrency.AcquireResult
)

var (
	holdersKey = "concurrency:{u1}:holders"
	leasesKey  = "concurrency:{u1}:leases"
	startFence = luatest.Start.UnixMicro()
)

// leaseKeys are the keys' expiries, which are whole milliseconds of the clock.
func leaseKeys(ttl time.Duration) ttls {
	return ttls{holdersKey: ttl + time.Millisecond, leasesKey: ttl + time.Millisecond}
}

func acquire(p acquireParams) func(context.Context, *concurrency.Client) (any, error) {
	p.Bucket = "u1"
	if p.Lease == 0 {
		p.Lease = 10 * time.Second
	}
	return luatest.Call((*concurrency.Client).Acquire, p)
}

func of2(holder string) func(context.Context, *concurrency.Client) (any, error) {
	return acquire(acquireParams{Holder: holder, Limit: 2})
}

func renew(p concurrency.RenewParams) func(context.Context, *concurrency.Client) (any, error) {
	p.Bucket = "u1"
	return luatest.Call((*concurrency.Client).Renew, p)
}

func release(holder string, fence int64) func(context.Context, *concurrency.Client) (any, error) {
	return luatest.Call((*concurrency.Client).Release, concurrency.ReleaseParams{Bucket: "u1", Holder: holder, Fence: fence})
}

func evict(holder string) func(context.Context, *concurrency.Client) (any, error) {
	return luatest.Call((*concurrency.Client).Evict, concurrency.EvictParams{Bucket: "u1", Holder: holder})
}

func releaseOutcome(o concurrency.ReleaseOutcome) concurrency.ReleaseResult {
	return concurrency.ReleaseResult{Outcome: o}
}

func TestAcquire_admitsAsManyAsTheLimit(t *testing.T) {
	semaphores.Run(
		t,
		leaseStep{Name: "first use", Call: of2("a"), Writes: true, TTLs: leaseKeys(2*time.Hour + 10*time.Second), Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "exactly the limit", Call: of2("b"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 2}},
		leaseStep{Name: "one more", Advance: time.Second, Call: of2("c"), Want: acquireResult{InUse: 2, RetryAfter: 9 * time.Second}},
		leaseStep{Name: "a tick too early", Advance: 9*time.Second - time.Microsecond, Call: of2("c"), Want: acquireResult{InUse: 2, RetryAfter: time.Microsecond}},
		leaseStep{Name: "both leases have ended", Advance: time.Microsecond, Call: of2("c"), Writes: true, TTLs: leaseKeys(2*time.Hour + 10*time.Second), Want: acquireResult{Allowed: true, Fence: startFence + 10_000_000, InUse: 1, Remaining: 1}},
		leaseStep{Name: "long idle", Advance: 1000 * day, Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 10_000_000 + 1000*day.Microseconds(), InUse: 1, Remaining: 1}},
	)
}

func TestAcquire_theSameHolderGetsItsOwnPlace(t *testing.T) {
	semaphores.Run(
		t,
		leaseStep{Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "a shorter lease changes nothing", Call: acquire(acquireParams{Holder: "a", Limit: 2, Lease: time.Second}), Want: acquireResult{Allowed: true, Held: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "a longer lease extends it", Advance: time.Second, Call: of2("a"), Writes: true, TTLs: leaseKeys(2*time.Hour + 9*time.Second), Want: acquireResult{Allowed: true, Held: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "its weight stays", Call: acquire(acquireParams{Holder: "a", Limit: 2, Weight: 2}), Want: acquireResult{Allowed: true, Held: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "its lease has ended", Advance: 10 * time.Second, Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 11_000_000, InUse: 1, Remaining: 1}},
	)
}

func TestAcquire_weighs(t *testing.T) {
	of10 := func(holder string, weight int64, lease time.Duration) func(context.Context, *concurrency.Client) (any, error) {
		return acquire(acquireParams{Holder: holder, Limit: 10, Weight: weight, Lease: lease})
	}
	semaphores.Run(
		t,
		leaseStep{Call: of10("a", 3, time.Minute), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 3, Remaining: 7}},
		leaseStep{Call: of10("b", 5, time.Second), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 8, Remaining: 2}},
		leaseStep{Name: "one too many", Call: of10("c", 3, time.Second), Want: acquireResult{InUse: 8, Remaining: 2, RetryAfter: time.Second}},
		leaseStep{Name: "both leases have to end", Call: of10("c", 8, time.Second), Want: acquireResult{InUse: 8, Remaining: 2, RetryAfter: time.Minute}},
		leaseStep{Name: "above the limit", Call: of10("c", 11, time.Second), WantErr: fcall.ErrArgument},
		leaseStep{Name: "the largest", Call: acquire(acquireParams{Holder: strings.Repeat("z", 256), Limit: 1_000_000, Weight: 1000, Lease: day}), Writes: true, TTLs: leaseKeys(26 * time.Hour), Want: acquireResult{Allowed: true, Fence: startFence + 2, InUse: 1008, Remaining: 998_992}},
		leaseStep{Name: "a lowered limit ends no lease", Call: of10("c", 1, time.Second), Want: acquireResult{InUse: 1008, RetryAfter: day}},
	)
}

func TestAcquire_rejectsWhatIsOutOfBounds(t *testing.T) {
	var steps []leaseStep
	for _, p := range []acquireParams{
		{Holder: "", Limit: 1},
		{Holder: strings.Repeat("x", 1<<20), Limit: 1},
		{Holder: "a", Limit: 0},
		{Holder: "a", Limit: 1_000_001},
		{Holder: "a", Limit: 1, Lease: -time.Second},
		{Holder: "a", Limit: 1, Lease: time.Microsecond},
		{Holder: "a", Limit: 1, Lease: day + time.Microsecond},
		{Holder: "a", Limit: 5000, Weight: 1001},
		{Holder: "a", Limit: 1, Weight: -1},
	} {
		steps = append(steps, leaseStep{Call: acquire(p), WantErr: fcall.ErrArgument})
	}
	semaphores.Run(t, steps...)
}

func TestRenew_extendsWhatIsHeld(t *testing.T) {
	renewed := func(left time.Duration) concurrency.RenewResult {
		return concurrency.RenewResult{Outcome: concurrency.RenewOutcomeRenewed, ExpiresAfter: left}
	}
	semaphores.Run(
		t,
		leaseStep{Name: "nothing is held", Call: renew(concurrency.RenewParams{Holder: "a", Lease: time.Second}), Want: concurrency.RenewResult{Outcome: concurrency.RenewOutcomeNotHeld}},
		leaseStep{Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "to a later end", Advance: 9 * time.Second, Call: renew(concurrency.RenewParams{Holder: "a", Lease: 10 * time.Second, Fence: startFence}), Writes: true, TTLs: leaseKeys(2*time.Hour + time.Second), Want: renewed(10 * time.Second)},
		leaseStep{Name: "not to an earlier end", Call: renew(concurrency.RenewParams{Holder: "a", Lease: time.Second}), Want: renewed(10 * time.Second)},
		leaseStep{Name: "by an earlier acquisition", Call: renew(concurrency.RenewParams{Holder: "a", Lease: time.Minute, Fence: startFence - 1}), Want: concurrency.RenewResult{Outcome: concurrency.RenewOutcomeSuperseded}},
		leaseStep{Name: "after its end", Advance: 10 * time.Second, Call: renew(concurrency.RenewParams{Holder: "a", Lease: time.Minute}), Want: concurrency.RenewResult{Outcome: concurrency.RenewOutcomeNotHeld}},
	)
}

func TestRelease_freesThePlaceOnce(t *testing.T) {
	semaphores.Run(
		t,
		leaseStep{Call: acquire(acquireParams{Holder: "a", Limit: 1}), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1}},
		leaseStep{Name: "by an earlier acquisition", Call: release("a", startFence-1), Want: releaseOutcome("superseded")},
		leaseStep{Name: "by a fence of the future", Call: release("a", startFence+1), Want: releaseOutcome("not_held")},
		leaseStep{Call: release("a", startFence), Writes: true, TTLs: ttls{holdersKey: 2*time.Hour + 10*time.Second + time.Millisecond}, Want: releaseOutcome("released")},
		leaseStep{Name: "twice", Call: release("a", startFence), Want: releaseOutcome("not_held")},
		leaseStep{Name: "the fence grows on", Call: acquire(acquireParams{Holder: "b", Limit: 1}), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 1}},
		leaseStep{Name: "evicted", Call: evict("b"), Writes: true, Want: concurrency.EvictResult{Evicted: true, Fence: startFence + 1}},
		leaseStep{Name: "evicted twice", Call: evict("b"), Want: concurrency.EvictResult{}},
		leaseStep{Name: "its renewal learns of it", Call: renew(concurrency.RenewParams{Holder: "b", Lease: time.Second}), Want: concurrency.RenewResult{Outcome: concurrency.RenewOutcomeNotHeld}},
	)
}

func TestAcquire_fencesGrowWhenTheClockIsSetBack(t *testing.T) {
	one := func(holder string) func(context.Context, *concurrency.Client) (any, error) {
		return acquire(acquireParams{Holder: holder, Limit: 5, Lease: time.Second})
	}
	semaphores.Run(
		t,
		leaseStep{Call: one("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1, Remaining: 4}},
		leaseStep{Name: "by a minute: the lease lasts that much longer", Advance: -time.Minute, Call: one("b"), Writes: true, TTLs: leaseKeys(2*time.Hour + time.Minute + time.Second), Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 2, Remaining: 3}},
		leaseStep{Name: "by two days", Advance: -48 * time.Hour, Call: one("c"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 2, InUse: 3, Remaining: 2}},
		leaseStep{Name: "and forward again, above an hour", Advance: 49*time.Hour + time.Minute, Call: one("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 3600_000_000, InUse: 1, Remaining: 4}},
	)
}

func TestConcurrency_unreadableStateIsReportedAndKept(t *testing.T) {
	const us, later = "1767323045678901", "1767323345678901"
	var steps []leaseStep
	for _, text := range []string{"", "x", us, us + " " + later, us + " " + later + " 0", us + " " + later + " 1001", us + " nan              1", us + " " + later + " 1.5", strings.Repeat("9", 400)} {
		for _, field := range []string{"", "a"} {
			given := func(t testing.TB, s *luatest.Server) {
				s.Do(t, "DEL", holdersKey)
				s.Do(t, "HSET", holdersKey, field, text)
				s.Expire(t, holdersKey, time.Hour)
			}
			steps = append(
				steps,
				leaseStep{Name: field + ": " + text, Given: given, Call: of2("a"), WantErr: fcall.ErrState},
				leaseStep{Call: renew(concurrency.RenewParams{Holder: "a", Lease: time.Second}), WantErr: fcall.ErrState},
				leaseStep{Call: release("a", 0), WantErr: fcall.ErrState},
				leaseStep{Call: evict("a"), WantErr: fcall.ErrState},
			)
		}
	}
	steps = append(
		steps,
		leaseStep{Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "DEL", holdersKey); wrongType(leasesKey)(t, s) }, Call: of2("a"), WantErr: fcall.ErrState},
		leaseStep{Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "DEL", leasesKey); wrongType(holdersKey)(t, s) }, Call: of2("a"), WantErr: fcall.ErrState},
	)
	semaphores.Run(t, steps...)
}

// Fifty callers in the same moment: ten places, ten fences, and no holder twice.
func TestAcquire_fiftyAtOnce(t *testing.T) {
	semaphores.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, c *concurrency.Client) {
		var allowed atomic.Int64
		var fences sync.Map
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				r, err := c.Acquire(t.Context(), acquireParams{Bucket: "u1", Holder: fcall.NewToken(), Limit: 10, Lease: time.Minute})
				if err != nil {
					t.Error(err)
				}
				if r.Allowed {
					allowed.Add(1)
					if _, twice := fences.LoadOrStore(r.Fence, true); twice {
						t.Errorf("fence %d was given twice", r.Fence)
					}
				}
			})
		}
		wg.Wait()
		if allowed.Load() != 10 {
			t.Errorf("%d acquired, want 10", allowed.Load())
		}
	})
}

func TestConcurrencyPeek_listsHolders(t *testing.T) {
	peek := luatest.Call((*concurrency.Client).Peek, concurrency.PeekParams{Bucket: "u1"})
	semaphores.Run(
		t,
		leaseStep{Name: "none", Call: peek, Want: concurrency.PeekResult{Holders: []concurrency.PeekHoldersResult{}}},
		leaseStep{Call: acquire(acquireParams{Holder: "late", Limit: 10, Weight: 3, Lease: time.Minute}), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 3, Remaining: 7}},
		leaseStep{Call: acquire(acquireParams{Holder: "soon", Limit: 10, Lease: time.Second}), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 4, Remaining: 6}},
		leaseStep{Call: peek, Want: concurrency.PeekResult{InUse: 4, Fence: startFence + 1, Holders: []concurrency.PeekHoldersResult{
			{Holder: "soon", Fence: startFence + 1, Weight: 1, ExpiresAfter: time.Second}, {Holder: "late", Fence: startFence, Weight: 3, ExpiresAfter: time.Minute},
		}}},
		leaseStep{Name: "an ended lease is not listed", Advance: time.Second, Call: peek, Want: concurrency.PeekResult{InUse: 3, Fence: startFence + 1, Holders: []concurrency.PeekHoldersResult{
			{Holder: "late", Fence: startFence, Weight: 3, ExpiresAfter: 59 * time.Second},
		}}},
	)
}

// An evicted key of one kind leaves the other: what is left neither crashes a call nor admits more.
func TestAcquire_withoutItsHoldersKey(t *testing.T) {
	semaphores.Each(t, func(t *testing.T, s *luatest.Server, c *concurrency.Client) {
		p := acquireParams{Bucket: "u1", Holder: "a", Limit: 1, Lease: time.Minute}
		if r, err := c.Acquire(t.Context(), p); err != nil || !r.Allowed {
			t.Fatal(r, err)
		}
		s.Do(t, "DEL", holdersKey)
		p.Holder = "b"
		r, err := c.Acquire(t.Context(), p)
		if diff := cmp.Diff(acquireResult{InUse: 1, RetryAfter: time.Minute}, r); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

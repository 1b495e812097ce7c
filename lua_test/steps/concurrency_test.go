package steps_test

import (
	"context"
	"fmt"
	"testing"
	"time"

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
	holdersKey = "rl:{u1}:holders"
	fencesKey  = "rl:{u1}:fences"
	startFence = luatest.Start.UnixMicro()
)

func leaseKeys(ttl time.Duration) ttls { return ttls{holdersKey: ttl, fencesKey: ttl} }

func acquire(p acquireParams) func(context.Context, *concurrency.Client) (any, error) {
	p.Subject = "u1"
	if p.Lease == 0 {
		p.Lease = 10 * time.Second
	}
	return luatest.Call((*concurrency.Client).Acquire, p)
}

func of2(holder string) func(context.Context, *concurrency.Client) (any, error) {
	return acquire(acquireParams{Holder: holder, Limit: 2})
}

func renew(p concurrency.RenewParams) func(context.Context, *concurrency.Client) (any, error) {
	p.Subject = "u1"
	return luatest.Call((*concurrency.Client).Renew, p)
}

func release(holder string, fence int64) func(context.Context, *concurrency.Client) (any, error) {
	return luatest.Call((*concurrency.Client).Release, concurrency.ReleaseParams{Subject: "u1", Holder: holder, Fence: fence})
}

func releaseOutcome(o concurrency.ReleaseOutcome) concurrency.ReleaseResult {
	return concurrency.ReleaseResult{Outcome: o}
}

func TestAcquire_admitsAsManyAsTheLimit(t *testing.T) {
	semaphores.Run(
		t,
		leaseStep{Name: "first use", Call: of2("a"), Writes: true, TTLs: leaseKeys(time.Hour + 10*time.Second), Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "exactly the limit", Call: of2("b"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 2}},
		leaseStep{Name: "one more", Advance: time.Second, Call: of2("c"), Want: acquireResult{InUse: 2, RetryAfter: 9 * time.Second}},
		leaseStep{Name: "a tick too early", Advance: 9*time.Second - time.Microsecond, Call: of2("c"), Want: acquireResult{InUse: 2, RetryAfter: time.Microsecond}},
		leaseStep{Name: "both leases have ended", Advance: time.Microsecond, Call: of2("c"), Writes: true, TTLs: leaseKeys(time.Hour + 10*time.Second), Want: acquireResult{Allowed: true, Fence: startFence + 10_000_000, InUse: 1, Remaining: 1}},
		leaseStep{Name: "long idle", Advance: 1000 * day, Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 10_000_000 + 1000*day.Microseconds(), InUse: 1, Remaining: 1}},
	)
}

func TestAcquire_theSameHolderGetsItsOwnPlace(t *testing.T) {
	semaphores.Run(
		t,
		leaseStep{Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "a shorter lease changes nothing", Call: acquire(acquireParams{Holder: "a", Limit: 2, Lease: time.Second}), Want: acquireResult{Allowed: true, Held: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "a longer lease extends it", Advance: time.Second, Call: of2("a"), Writes: true, TTLs: leaseKeys(time.Hour + 10*time.Second), Want: acquireResult{Allowed: true, Held: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "its weight stays", Call: acquire(acquireParams{Holder: "a", Limit: 2, Weight: 2}), Want: acquireResult{Allowed: true, Held: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "its lease has ended", Advance: 10 * time.Second, Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 11_000_000, InUse: 1, Remaining: 1}},
	)
}

func TestRenew_extendsWhatIsHeld(t *testing.T) {
	renewed := func(left time.Duration) concurrency.RenewResult {
		return concurrency.RenewResult{Outcome: concurrency.RenewOutcomeRenewed, ExpiresAfter: left}
	}
	semaphores.Run(
		t,
		leaseStep{Name: "nothing is held", Call: renew(concurrency.RenewParams{Holder: "a", Lease: time.Second}), Want: concurrency.RenewResult{Outcome: concurrency.RenewOutcomeNotHeld}},
		leaseStep{Call: of2("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 1, Remaining: 1}},
		leaseStep{Name: "to a later end", Advance: 9 * time.Second, Call: renew(concurrency.RenewParams{Holder: "a", Lease: 10 * time.Second, Fence: startFence}), Writes: true, TTLs: leaseKeys(time.Hour + 10*time.Second), Want: renewed(10 * time.Second)},
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
		leaseStep{Call: release("a", startFence), Writes: true, TTLs: ttls{fencesKey: time.Hour + 10*time.Second}, Want: releaseOutcome("released")},
		leaseStep{Name: "twice", Call: release("a", startFence), Want: releaseOutcome("not_held")},
		leaseStep{Name: "the fence grows on", Call: acquire(acquireParams{Holder: "b", Limit: 1}), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 1}},
		leaseStep{Name: "by an operator", Call: release("b", 0), Writes: true, Want: releaseOutcome("released")},
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
		leaseStep{Name: "by a minute: the lease lasts that much longer", Advance: -time.Minute, Call: one("b"), Writes: true, TTLs: leaseKeys(time.Hour + time.Minute + time.Second), Want: acquireResult{Allowed: true, Fence: startFence + 1, InUse: 2, Remaining: 3}},
		leaseStep{Name: "by two days", Advance: -48 * time.Hour, Call: one("c"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 2, InUse: 3, Remaining: 2}},
		leaseStep{Name: "and forward again, above an hour", Advance: 49*time.Hour + time.Minute, Call: one("a"), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 3600_000_000, InUse: 1, Remaining: 4}},
	)
}

func TestConcurrency_stateOfAnotherTypeIsReportedAndKept(t *testing.T) {
	var steps []leaseStep
	for _, key := range []string{holdersKey, fencesKey} {
		steps = append(
			steps,
			leaseStep{Name: key, Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "DEL", holdersKey, fencesKey) }, Call: of2("b"), Writes: true, Want: luatest.Any},
			leaseStep{Given: wrongType(key), Call: of2("a"), WantErr: fcall.ErrState},
			leaseStep{Call: renew(concurrency.RenewParams{Holder: "b", Lease: time.Second, Fence: 1}), WantErr: fcall.ErrState},
			leaseStep{Call: release("b", 1), WantErr: fcall.ErrState},
			leaseStep{Call: luatest.Call((*concurrency.Client).Peek, concurrency.PeekParams{Subject: "u1"}), WantErr: fcall.ErrState},
		)
	}
	semaphores.Run(t, steps...)
}

// Scores that no call has stored are read as whole numbers, and fences as none.
func TestConcurrency_mutatedState(t *testing.T) {
	given := func(t testing.TB, s *luatest.Server) {
		s.Do(t, "ZADD", holdersKey, "inf", "lease:x", "1.5", "lease:y", "-inf", "weight:z", "-2.5", "extra")
		s.Do(t, "HSET", fencesKey, "last", "nan", ":a", "-1")
		s.Expire(t, holdersKey, time.Hour)
		s.Expire(t, fencesKey, time.Hour)
	}
	semaphores.Run(
		t,
		leaseStep{Name: "a lease for ever, and two places beside it", Given: given, Call: of2("a"), Want: acquireResult{InUse: 3, RetryAfter: time.Duration(1<<53-startFence) * time.Microsecond}},
		leaseStep{Call: acquire(acquireParams{Holder: "a", Limit: 4}), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence, InUse: 4}},
	)
}

func TestConcurrencyPeek_listsHolders(t *testing.T) {
	peek := luatest.Call((*concurrency.Client).Peek, concurrency.PeekParams{Subject: "u1"})
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

// An acquisition removes at most 100 holders whose leases have ended, and answers as if they were all gone.
func TestAcquire_removesAFewHoldersACall(t *testing.T) {
	semaphores.Each(t, func(t *testing.T, s *luatest.Server, c *concurrency.Client) {
		s.Set(t, luatest.Start)
		take := func(holder string, lease time.Duration, inUse, stored int64) {
			t.Helper()
			r, err := c.Acquire(t.Context(), acquireParams{Subject: "u1", Holder: holder, Limit: 1000, Lease: lease})
			if err != nil || !r.Allowed || r.InUse != inUse || r.Remaining != 1000-inUse {
				t.Fatalf("%s: %+v, %v; want %d in use", holder, r, err, inUse)
			}
			if n := s.Redis.ZCount(t.Context(), holdersKey, "1", "+inf").Val(); n != stored {
				t.Fatalf("%s: %d leases are stored, want %d", holder, n, stored)
			}
		}
		take("kept", time.Hour, 1, 1)
		for i := range int64(250) {
			take(fmt.Sprint("short", i), time.Millisecond, 2+i, 2+i)
		}
		s.Advance(t, time.Millisecond)
		take("first", time.Hour, 2, 152)
		take("second", time.Hour, 3, 53)
		take("third", time.Hour, 4, 4)
	})
}

package steps_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
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
	holdersKey = "concurrency:{u1}:holders"
	startFence = luatest.Start.UnixMicro()
)

func leaseKeys(ttl time.Duration) ttls { return ttls{holdersKey: ttl} }

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

func evict(holder string) func(context.Context, *concurrency.Client) (any, error) {
	return luatest.Call((*concurrency.Client).Evict, concurrency.EvictParams{Subject: "u1", Holder: holder})
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
		leaseStep{Name: "both leases have ended", Advance: time.Microsecond, Call: of2("c"), Writes: true, TTLs: leaseKeys(2 * time.Hour), Want: acquireResult{Allowed: true, Fence: startFence + 10_000_000, InUse: 1, Remaining: 1}},
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
		leaseStep{Call: release("a", startFence), Writes: true, TTLs: leaseKeys(2*time.Hour + 10*time.Second), Want: releaseOutcome("released")},
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
	head := func(numbers ...float64) string {
		var text []byte
		for _, n := range numbers {
			text = binary.LittleEndian.AppendUint64(text, math.Float64bits(n))
		}
		return string(text)
	}
	us := float64(startFence)
	fine := head(us, us, us, us, 1, 1) // until now: the places are read
	place := func(length int, ends, fence float64, weight byte, name string) string {
		return string([]byte{byte(length), 0}) + head(ends, fence) + string([]byte{weight, 0}) + name
	}
	var steps []leaseStep
	for what, text := range map[string]string{
		"empty": "", "short": "x", "a record without a name": fine + place(0, us+9, us, 1, ""), "a name cut short": fine + place(2, us+9, us, 1, "a"),
		"bytes after it": fine + place(1, us+9, us, 1, "a") + "x", "no weight": fine + place(1, us+9, us, 0, "a"), "half a microsecond": fine + place(1, 1.5, us, 1, "a"),
		"a fence of NaN": head(math.NaN(), us, us, us, 1, 1), "a negative fence": head(-1, us, us, us, 1, 1), "an infinite end": fine + place(1, math.Inf(1), us, 1, "a"),
		"half a place": head(us, us, us, us, 0.5, 1), "no power": head(us, us, us, us, 1, 0), "many powers": head(us, us, us, us, 1, 11), "above 2^53": head(us, us, math.MaxFloat64, us, 1, 1),
	} {
		steps = append(steps, brokenLease(what, "SET", text)...)
		if len(text) <= len(fine) {
			steps = append(steps, brokenLease(what+" in a sorted set", "ZADD", "!"+text)...)
		}
	}
	broken := "z\x00\x01a" + head(1.5, us) + "\x00\x01"
	steps = append(steps, brokenLease("a record of a sorted set", "ZADD", "!"+fine, broken)...)
	steps = append(steps, brokenLease("a short record of a sorted set", "ZADD", "!"+fine, broken[:9])...)
	unread := head(us, us, us+3600e6, us+60e6, 1, 1) + strings.Repeat("x", 960) // a further place makes it a sorted set
	steps = append(steps, brokenLease("a string that is nearly full", "SET", unread)[0])
	steps = append(steps, leaseStep{Given: wrongType(holdersKey), Call: of2("a"), WantErr: fcall.ErrState})
	semaphores.Run(t, steps...)
}

// brokenLease are calls that meet what no call has stored.
func brokenLease(what, command string, texts ...string) []leaseStep {
	given := func(t testing.TB, s *luatest.Server) {
		s.Do(t, "DEL", holdersKey)
		for _, text := range texts {
			if command == "SET" {
				s.Do(t, "SET", holdersKey, text)
			} else {
				s.Do(t, "ZADD", holdersKey, 0, text)
			}
		}
		s.Expire(t, holdersKey, time.Hour)
	}
	return []leaseStep{
		{Name: what, Given: given, Call: of2("a"), WantErr: fcall.ErrState},
		{Call: renew(concurrency.RenewParams{Holder: "a", Lease: time.Second}), WantErr: fcall.ErrState},
		{Call: release("a", 0), WantErr: fcall.ErrState},
		{Call: evict("a"), WantErr: fcall.ErrState},
	}
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

// Many holders are kept in a sorted set. All rules are those of the string that fewer are kept in.
func TestAcquire_manyHolders(t *testing.T) {
	name := func(i int) string { return fmt.Sprintf("%0200d", i) }
	of20 := func(i int, weight int64) func(context.Context, *concurrency.Client) (any, error) {
		return acquire(acquireParams{Holder: name(i), Limit: 20, Weight: weight, Lease: time.Duration(20-i) * time.Second})
	}
	var steps []leaseStep
	for i := range 10 {
		steps = append(steps, leaseStep{Call: of20(i, 2), Writes: true, TTLs: leaseKeys(2*time.Hour + 20*time.Second), Want: acquireResult{Allowed: true, Fence: startFence + int64(i), InUse: int64(2*i + 2), Remaining: int64(18 - 2*i)}})
	}
	steps = append(
		steps,
		leaseStep{Name: "one more", Call: of20(10, 1), Want: acquireResult{InUse: 20, RetryAfter: 11 * time.Second}},
		leaseStep{Name: "three more", Call: of20(10, 3), Want: acquireResult{InUse: 20, RetryAfter: 12 * time.Second}},
		leaseStep{Name: "an early holder again", Advance: time.Second, Call: of20(0, 1), Writes: true, Want: acquireResult{Allowed: true, Held: true, Fence: startFence, InUse: 20}},
		leaseStep{Name: "released", Call: release(name(5), 0), Writes: true, Want: releaseOutcome("released")},
		leaseStep{Name: "twice", Call: release(name(5), 0), Want: releaseOutcome("not_held")},
		leaseStep{Name: "three have ended", Advance: 12 * time.Second, Call: of20(10, 3), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 13_000_000, InUse: 15, Remaining: 5}},
		leaseStep{Name: "an ended lease does not count if the clock is set back", Advance: -10 * time.Second, Call: of20(9, 1), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 13_000_001, InUse: 16, Remaining: 4}},
		leaseStep{Name: "all have ended", Advance: time.Hour, Call: of20(0, 20), Writes: true, Want: acquireResult{Allowed: true, Fence: startFence + 3603_000_000, InUse: 20}},
	)
	semaphores.Run(t, steps...)
}

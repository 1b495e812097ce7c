package templates_test

import (
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"

	"github.com/rlfunc/rlfunc/examples/templates/gen/semaphore"
)

var semaphoreSuite = luatest.Suite[*semaphore.Client]{
	Library: semaphore.Library, Client: semaphore.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestSemaphore_keepsItsContract(t *testing.T) { luatest.Contract(t, semaphoreSuite) }

type semaphoreStep = luatest.Step[*semaphore.Client]

func place(holder string, lease time.Duration) semaphore.AcquireParams {
	return semaphore.AcquireParams{Subject: "room7", Holder: holder, Limit: 2, Lease: lease}
}

func TestSemaphore_hasPlacesForItsLimit(t *testing.T) {
	const key = "semaphore:{room7}:leases"
	acquire, renew, release := (*semaphore.Client).Acquire, (*semaphore.Client).Renew, (*semaphore.Client).Release
	renewal := func(holder string, lease time.Duration) semaphore.RenewParams {
		return semaphore.RenewParams{Subject: "room7", Holder: holder, Lease: lease}
	}
	semaphoreSuite.Run(
		t,
		semaphoreStep{
			Name: "first use", Call: luatest.Call(acquire, place("ann", time.Minute)), Writes: true, Want: semaphore.AcquireResult{Allowed: true, Taken: 1},
			TTLs: map[string]time.Duration{key: time.Minute},
		},
		semaphoreStep{
			Name: "exactly the limit; a short lease ends no other", Call: luatest.Call(acquire, place("ben", time.Second)), Writes: true,
			Want: semaphore.AcquireResult{Allowed: true, Taken: 2}, TTLs: map[string]time.Duration{key: time.Minute},
		},
		semaphoreStep{Name: "one more", Call: luatest.Call(acquire, place("eve", time.Minute)), Want: semaphore.AcquireResult{Taken: 2, RetryAfter: time.Second}},
		semaphoreStep{Name: "the same holder", Advance: time.Millisecond, Call: luatest.Call(acquire, place("ann", time.Minute)), Writes: true, Want: semaphore.AcquireResult{Allowed: true, Taken: 2}},
		semaphoreStep{Name: "a shorter renewal", Call: luatest.Call(renew, renewal("ann", time.Second)), Want: semaphore.RenewResult{Renewed: true, ExpiresAfter: time.Minute}},
		semaphoreStep{Name: "a longer renewal", Call: luatest.Call(renew, renewal("ann", time.Hour)), Writes: true, Want: semaphore.RenewResult{Renewed: true, ExpiresAfter: time.Hour}},
		semaphoreStep{Name: "a microsecond before the first end", Advance: 999*time.Millisecond - time.Microsecond, Call: luatest.Call(acquire, place("eve", time.Minute)), Want: semaphore.AcquireResult{Taken: 2, RetryAfter: time.Microsecond}},
		semaphoreStep{Name: "at the end", Advance: time.Microsecond, Call: luatest.Call(acquire, place("eve", time.Minute)), Writes: true, Want: semaphore.AcquireResult{Allowed: true, Taken: 2}},
		semaphoreStep{Name: "too late to renew", Call: luatest.Call(renew, renewal("ben", time.Minute)), Want: semaphore.RenewResult{}},
		semaphoreStep{Name: "too late to release", Call: luatest.Call(release, semaphore.ReleaseParams{Subject: "room7", Holder: "ben"}), Want: semaphore.ReleaseResult{}},
		semaphoreStep{Name: "release", Call: luatest.Call(release, semaphore.ReleaseParams{Subject: "room7", Holder: "eve"}), Writes: true, Want: semaphore.ReleaseResult{Released: true}},
		semaphoreStep{Name: "a clock that was set back", Advance: -time.Hour, Call: luatest.Call(acquire, place("ben", time.Minute)), Writes: true, Want: semaphore.AcquireResult{Allowed: true, Taken: 2}},
		semaphoreStep{Name: "no lease", Call: luatest.Call(acquire, place("ann", 0)), WantErr: fcall.ErrArgument},
		semaphoreStep{Name: "no holder", Call: luatest.Call(acquire, place("", time.Minute)), WantErr: fcall.ErrArgument},
	)
}

func TestSemaphore_boundsAndWrongClocks(t *testing.T) {
	const years, day = 10 * 365 * 24 * time.Hour, 24 * time.Hour
	acquire, longest := (*semaphore.Client).Acquire, strings.Repeat("h", 64)
	most := semaphore.AcquireParams{Subject: "room7", Holder: longest, Limit: 1000, Lease: day}
	one := func(holder string) semaphore.AcquireParams {
		return semaphore.AcquireParams{Subject: "room7", Holder: holder, Limit: 1, Lease: time.Minute}
	}
	renewal := semaphore.RenewParams{Subject: "room7", Holder: "ann", Lease: day}
	first := semaphore.AcquireResult{Allowed: true, Taken: 1}
	semaphoreSuite.Run(
		t,
		semaphoreStep{
			Name: "largest legal arguments", Call: luatest.Call(acquire, most), Writes: true, Want: first,
			TTLs: map[string]time.Duration{"semaphore:{room7}:leases": day},
		},
		semaphoreStep{Name: "set back by an hour", Advance: -time.Hour, Call: luatest.Call(acquire, one("ann")), Want: semaphore.AcquireResult{Taken: 1, RetryAfter: day + time.Hour}},
		semaphoreStep{Name: "a clock years ahead", Advance: time.Hour + years, Call: luatest.Call(acquire, one("ann")), Writes: true, Want: first},
		semaphoreStep{Name: "and right again: the lease is over", Advance: -years, Call: luatest.Call((*semaphore.Client).Renew, renewal), Want: semaphore.RenewResult{}},
		semaphoreStep{Name: "nothing to release", Call: luatest.Call((*semaphore.Client).Release, semaphore.ReleaseParams{Subject: "room7", Holder: "ann"}), Want: semaphore.ReleaseResult{}},
		semaphoreStep{Name: "the place is free", Call: luatest.Call(acquire, one("ben")), Writes: true, Want: first},
		semaphoreStep{Name: "and taken by the right clock", Call: luatest.Call(acquire, one("ann")), Want: semaphore.AcquireResult{Taken: 1, RetryAfter: time.Minute}},
		semaphoreStep{Name: "a clock years back", Advance: -years, Call: luatest.Call(acquire, one("ben")), Writes: true, Want: first},
		semaphoreStep{Name: "the same holder's end is by that clock", Call: luatest.Call(acquire, one("ann")), Want: semaphore.AcquireResult{Taken: 1, RetryAfter: time.Minute}},
	)
}

func TestSemaphore_manyAcquireAtOnce(t *testing.T) {
	semaphoreSuite.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, client *semaphore.Client) {
		var holders atomic.Int64
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				got, err := client.Acquire(t.Context(), place(fcall.NewToken(), time.Minute))
				if err != nil {
					t.Error(err)
				} else if got.Allowed {
					holders.Add(1)
				}
			})
		}
		wait.Wait()
		if holders.Load() != 2 {
			t.Errorf("%d holders of 2 places", holders.Load())
		}
	})
}

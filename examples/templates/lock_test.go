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

	"github.com/rlfunc/rlfunc/examples/templates/gen/lock"
)

var lockSuite = luatest.Suite[*lock.Client]{
	Library: lock.Library, Client: lock.New,
	Source: os.DirFS("functions"), Root: "functions",
}

// What the headers promise holds for any sequence of calls.
func TestLock_keepsItsContract(t *testing.T) { luatest.Contract(t, lockSuite) }

type lockStep = luatest.Step[*lock.Client]

func acquireLock(owner string, lease time.Duration) lock.AcquireParams {
	return lock.AcquireParams{Subject: "report7", Owner: owner, Lease: lease}
}

func TestLock_hasOneOwner(t *testing.T) {
	const minute, key = time.Minute, "lock:{report7}:lock"
	acquire, extend := (*lock.Client).Acquire, (*lock.Client).Extend
	release := func(owner string) lock.ReleaseParams { return lock.ReleaseParams{Subject: "report7", Owner: owner} }
	peek := luatest.Call((*lock.Client).Peek, lock.PeekParams{Subject: "report7"})
	first := luatest.Start.UnixMicro()
	lockSuite.Run(
		t,
		lockStep{Name: "nothing known", Call: peek, Want: lock.PeekResult{}},
		lockStep{
			Name: "first use", Call: luatest.Call(acquire, acquireLock("ann", minute)), Writes: true, Want: lock.AcquireResult{Allowed: true, Fence: first},
			TTLs: map[string]time.Duration{key: minute + time.Hour},
		},
		lockStep{Name: "another owner", Advance: time.Second, Call: luatest.Call(acquire, acquireLock("ben", minute)), Want: lock.AcquireResult{RetryAfter: 59 * time.Second}},
		lockStep{
			Name: "the same owner keeps its fence", Call: luatest.Call(acquire, acquireLock("ann", minute)), Writes: true,
			Want: lock.AcquireResult{Allowed: true, Fence: first},
		},
		lockStep{Name: "a shorter extension", Call: luatest.Call(extend, lock.ExtendParams{Subject: "report7", Owner: "ann", Lease: time.Second}), Want: lock.ExtendResult{Extended: true, ExpiresAfter: minute}},
		lockStep{
			Name: "a longer extension", Call: luatest.Call(extend, lock.ExtendParams{Subject: "report7", Owner: "ann", Lease: 2 * minute}), Writes: true,
			Want: lock.ExtendResult{Extended: true, ExpiresAfter: 2 * minute}, TTLs: map[string]time.Duration{key: 2*minute + time.Hour},
		},
		lockStep{Name: "not another's to extend", Call: luatest.Call(extend, lock.ExtendParams{Subject: "report7", Owner: "ben", Lease: minute}), Want: lock.ExtendResult{}},
		lockStep{Name: "not another's to release", Call: luatest.Call((*lock.Client).Release, release("ben")), Want: lock.ReleaseResult{}},
		lockStep{Name: "look", Call: peek, Want: lock.PeekResult{Owner: "ann", Fence: first, ExpiresAfter: 2 * minute}},
		lockStep{Name: "a microsecond before the end", Advance: 2*minute - time.Microsecond, Call: luatest.Call(acquire, acquireLock("ben", minute)), Want: lock.AcquireResult{RetryAfter: time.Microsecond}},
		lockStep{
			Name: "at the end", Advance: time.Microsecond, Call: luatest.Call(acquire, acquireLock("ben", time.Millisecond)), Writes: true,
			Want: lock.AcquireResult{Allowed: true, Fence: first + 121_000_000},
		},
		lockStep{Name: "too late to extend", Call: luatest.Call(extend, lock.ExtendParams{Subject: "report7", Owner: "ann", Lease: minute}), Want: lock.ExtendResult{}},
		lockStep{Name: "release", Call: luatest.Call((*lock.Client).Release, release("ben")), Writes: true, Want: lock.ReleaseResult{Released: true}},
		lockStep{Name: "once", Call: luatest.Call((*lock.Client).Release, release("ben")), Want: lock.ReleaseResult{}},
		lockStep{Name: "free", Call: peek, Want: lock.PeekResult{Fence: first + 121_000_000}},
		lockStep{
			Name: "a clock that was set back: fences still grow", Advance: -time.Minute, Call: luatest.Call(acquire, acquireLock("eve", 24*time.Hour)), Writes: true,
			Want: lock.AcquireResult{Allowed: true, Fence: first + 121_000_001},
		},
		lockStep{Name: "no lease", Call: luatest.Call(acquire, acquireLock("ann", 0)), WantErr: fcall.ErrArgument},
		lockStep{Name: "a lease too long", Call: luatest.Call(acquire, acquireLock("ann", 24*time.Hour+1)), WantErr: fcall.ErrArgument},
		lockStep{Name: "no owner", Call: luatest.Call(acquire, acquireLock("", minute)), WantErr: fcall.ErrArgument},
		lockStep{
			Name: "another program's key", Given: func(t testing.TB, s *luatest.Server) {
				s.Do(t, "DEL", key)
				s.Do(t, "HSET", key, "owner", "ann", "ends_us", "soon")
				s.Expire(t, key, minute)
			},
			Call: luatest.Call(acquire, acquireLock("ann", minute)), WantErr: fcall.ErrState,
		},
	)
}

func TestLock_boundsAndWrongClocks(t *testing.T) {
	const years, day = 10 * 365 * 24 * time.Hour, 24 * time.Hour
	acquire, longest := (*lock.Client).Acquire, strings.Repeat("o", 64)
	peek := luatest.Call((*lock.Client).Peek, lock.PeekParams{Subject: "report7"})
	first := luatest.Start.UnixMicro()
	ahead := luatest.Start.Add(years).UnixMicro()
	lockSuite.Run(
		t,
		lockStep{
			Name: "largest legal arguments", Call: luatest.Call(acquire, acquireLock(longest, day)), Writes: true, Want: lock.AcquireResult{Allowed: true, Fence: first},
			TTLs: map[string]time.Duration{"lock:{report7}:lock": day + time.Hour},
		},
		lockStep{Name: "set back by an hour", Advance: -time.Hour, Call: luatest.Call(acquire, acquireLock("ann", day)), Want: lock.AcquireResult{RetryAfter: day + time.Hour}},
		lockStep{Name: "a clock years ahead", Advance: time.Hour + years, Call: luatest.Call(acquire, acquireLock("ann", day)), Writes: true, Want: lock.AcquireResult{Allowed: true, Fence: ahead}},
		lockStep{Name: "and right again: the lease is over", Advance: -years, Call: peek, Want: lock.PeekResult{Fence: ahead}},
		lockStep{Name: "too late to extend", Call: luatest.Call((*lock.Client).Extend, lock.ExtendParams{Subject: "report7", Owner: "ann", Lease: day}), Want: lock.ExtendResult{}},
		lockStep{Name: "fences still grow", Call: luatest.Call(acquire, acquireLock("ben", day)), Writes: true, Want: lock.AcquireResult{Allowed: true, Fence: ahead + 1}},
		lockStep{Name: "a clock years back", Advance: -years, Call: luatest.Call(acquire, acquireLock("eve", day)), Writes: true, Want: lock.AcquireResult{Allowed: true, Fence: ahead + 2}},
	)
}

func TestLock_oneOfManyAcquiresIt(t *testing.T) {
	lockSuite.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, client *lock.Client) {
		var owners atomic.Int64
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				got, err := client.Acquire(t.Context(), acquireLock(fcall.NewToken(), time.Minute))
				if err != nil {
					t.Error(err)
				} else if got.Allowed {
					owners.Add(1)
				}
			})
		}
		wait.Wait()
		if owners.Load() != 1 {
			t.Errorf("%d owners of one lock", owners.Load())
		}
	})
}

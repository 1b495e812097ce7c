package guard_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

// An outcome is how a request ended, in the order in which the picture stacks them.
type outcome int

const (
	passed outcome = iota
	passedAlone
	refused
	failed
	outcomes
)

func outcomeOf(d *guard.Decision, err error) outcome {
	switch {
	case err != nil:
		return failed
	case !d.Allowed:
		return refused
	case d.Fallback != guard.FallbackNone:
		return passedAlone
	}
	return passed
}

// A phase holds the outcomes of requests while Redis was in one state.
type phase struct {
	mu     sync.Mutex
	counts [outcomes]int
	took   []time.Duration
	stall  time.Duration // the latest that the machine woke a goroutine which only sleeps
}

func (p *phase) note(o outcome, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[o]++
	p.took = append(p.took, time.Since(began))
}

// nap is the time between two requests of a client.
func (p *phase) nap() {
	began, most := time.Now(), 50*time.Millisecond+rand.N(100*time.Millisecond)
	time.Sleep(most)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stall = max(p.stall, time.Since(began)-most)
}

func (p *phase) quantile(q float64) time.Duration {
	slices.Sort(p.took)
	return p.took[int(q*float64(len(p.took)-1))].Round(time.Microsecond)
}

func (p *phase) String() string {
	return fmt.Sprintf("%d passed and %d without Redis, %d refused, %d failed; p50 %v, p99 %v, longest %v",
		p.counts[passed], p.counts[passedAlone], p.counts[refused], p.counts[failed], p.quantile(0.5), p.quantile(0.99), p.quantile(1))
}

// Redis is killed and comes back under load, with nothing saved. docs/failures.svg shows a run.
func TestDecide_redisIsKilledAndRestartedUnderLoad(t *testing.T) {
	const callers, subjects, limit, share = 300, 50, 20, 0.5 // the limit is per second
	for _, contract := range []policy.OnFailure{policy.Open, policy.Closed, policy.Local} {
		t.Run(string(contract), func(t *testing.T) {
			t.Parallel()
			server := engines.OnPath(t).Start(t)
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
			defer rdb.Close()
			p := chat(policy.Limit{Name: "second", Kind: policy.GCRA, Limit: limit, Window: time.Second, OnFailure: contract})
			p.Share = share
			p.Timeout = 50 * time.Millisecond
			g := newGuard(t, rdb, p, guard.Options{BreakFor: 100 * time.Millisecond, CacheSize: -1})

			var now atomic.Int32
			phases := [3]phase{}
			var counted [3][subjects]atomic.Int64 // decided by Redis
			var alone [subjects]atomic.Int64      // by a fallback
			ctx, stop := context.WithCancel(t.Context())
			var load sync.WaitGroup
			began := [4]time.Time{time.Now()} // of each phase, and the end
			for range callers {
				load.Go(func() {
					phases[0].nap()
					for ctx.Err() == nil {
						subject := rand.IntN(subjects)
						at, began := now.Load(), time.Now()
						d, err := g.Decide(context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{fmt.Sprint("ip=user", subject)}})
						if err != nil && !errors.Is(err, guard.ErrUnavailable) {
							t.Error(err)
						}
						ended := outcomeOf(d, err)
						if at == now.Load() { // within one state
							phases[at].note(ended, began)
						}
						switch ended {
						case passed:
							counted[at][subject].Add(1)
						case passedAlone:
							alone[subject].Add(1)
						}
						phases[at].nap()
					}
				})
			}
			// On a busy machine some answers are late, but counted.
			awaitPhase(t, &phases[0], func(p *phase) bool { return len(p.took)-p.counts[refused] >= subjects*limit })
			server.Kill()
			began[1] = time.Now()
			now.Store(1)
			awaitPhase(t, &phases[1], func(p *phase) bool { return len(p.took) > 2000 })
			began[2] = time.Now()
			server.Restart(t)
			now.Store(2)
			awaitPhase(t, &phases[2], func(p *phase) bool { return p.counts[passed] > subjects*limit/2 && p.counts[refused] > 500 })
			stop()
			load.Wait()
			began[3] = time.Now()
			for i, name := range []string{"alive", "killed", "restarted"} {
				t.Logf("%-6s %-9s %s", contract, name, &phases[i])
				// go-redis alone takes seconds; a decision is woken several times, each as late as a sleeper on a busy machine.
				if longest := phases[i].quantile(1); longest > time.Second+10*phases[i].stall {
					t.Errorf("%s, %s: a decision took %v with a deadline of 50ms, where a sleeper was woken at most %v late", contract, name, longest, phases[i].stall)
				}
			}
			// A bucket admits its burst and then its rate. That of the killed server is gone, so a client gets its burst once more.
			most := func(n float64, from, to int) int64 { return int64(n * (1 + began[to].Sub(began[from]).Seconds())) }
			for i := range subjects {
				for _, at := range []int{0, 2} {
					if n := counted[at][i].Load(); n > most(limit, at, at+1) {
						t.Errorf("%s: %d pass where Redis admits at most %d", contract, n, most(limit, at, at+1))
					}
				}
				if n := alone[i].Load(); contract == policy.Local && n > most(share*limit, 0, 3) {
					t.Errorf("%d pass where the share of this process is at most %d", n, most(share*limit, 0, 3))
				}
			}
			switch dead := phases[1].counts; {
			case contract == policy.Closed && dead[passedAlone] > 0, contract != policy.Closed && dead[failed] > 0:
				t.Errorf("%s while Redis is dead: %s", contract, &phases[1])
			}
		})
	}
}

func awaitPhase(t *testing.T, p *phase, done func(*phase) bool) {
	t.Helper()
	began := time.Now()
	for ; ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		reached := done(p)
		p.mu.Unlock()
		if reached {
			return
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("after a minute: %s", p)
		}
	}
}

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

// loaded is what became of the requests of many clients while Redis was in three states, one after another.
type loaded struct {
	phases  [3]phase
	began   [4]time.Time      // of each state, and the end
	counted [3][]atomic.Int64 // decided by Redis, for each subject
	alone   []atomic.Int64    // by a fallback
}

// underLoad sends requests until each state has lasted, and changes it to the next.
func underLoad(t *testing.T, g *guard.Guard, callers, subjects int, lasted [3]func(*phase) bool, change [2]func()) *loaded {
	t.Helper()
	l := &loaded{alone: make([]atomic.Int64, subjects), began: [4]time.Time{time.Now()}}
	for i := range l.counted {
		l.counted[i] = make([]atomic.Int64, subjects)
	}
	var now atomic.Int32
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			l.phases[0].nap()
			for ctx.Err() == nil {
				subject := rand.IntN(subjects)
				at, began := now.Load(), time.Now()
				d, err := g.Decide(context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{fmt.Sprint("ip=user", subject)}})
				if err != nil && !errors.Is(err, guard.ErrUnavailable) {
					t.Error(err)
				}
				ended := outcomeOf(d, err)
				if at == now.Load() { // within one state
					l.phases[at].note(ended, began)
				}
				switch ended {
				case passed:
					l.counted[at][subject].Add(1)
				case passedAlone:
					l.alone[subject].Add(1)
				}
				l.phases[at].nap()
			}
		})
	}
	for i := range l.phases {
		if i > 0 {
			change[i-1]()
			l.began[i] = time.Now()
			now.Store(int32(i))
		}
		awaitPhase(t, &l.phases[i], lasted[i])
	}
	stop()
	all.Wait()
	l.began[3] = time.Now()
	for i, name := range []string{"before", "during", "after"} {
		t.Logf("%-6s %s", name, &l.phases[i])
		// go-redis alone takes seconds; a decision is woken several times, each as late as a sleeper on a busy machine.
		if longest := l.phases[i].quantile(1); longest > time.Second+10*l.phases[i].stall {
			t.Errorf("%s: a decision took %v with a deadline of 50ms, where a sleeper was woken at most %v late", name, longest, l.phases[i].stall)
		}
	}
	return l
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
			p.Share, p.Timeout = share, 50*time.Millisecond
			l := underLoad(t, newGuard(t, rdb, p, guard.Options{BreakFor: 100 * time.Millisecond, CacheSize: -1}), callers, subjects, [3]func(*phase) bool{
				func(p *phase) bool { return len(p.took)-p.counts[refused] >= subjects*limit }, // on a busy machine some answers are late, but counted
				func(p *phase) bool { return len(p.took) > 2000 },
				func(p *phase) bool { return p.counts[passed] > subjects*limit/2 && p.counts[refused] > 500 },
			}, [2]func(){server.Kill, func() { server.Restart(t) }})
			// A bucket admits its burst and then its rate. That of the killed server is gone, so a client gets its burst once more.
			most := func(n float64, from, to int) int64 { return int64(n * (1 + l.began[to].Sub(l.began[from]).Seconds())) }
			for i := range subjects {
				for _, at := range []int{0, 2} {
					if n := l.counted[at][i].Load(); n > most(limit, at, at+1) {
						t.Errorf("%d pass where Redis admits at most %d", n, most(limit, at, at+1))
					}
				}
				if n := l.alone[i].Load(); contract == policy.Local && n > most(share*limit, 0, 3) {
					t.Errorf("%d pass where the share of this process is at most %d", n, most(share*limit, 0, 3))
				}
			}
			switch dead := l.phases[1].counts; {
			case contract == policy.Closed && dead[passedAlone] > 0, contract != policy.Closed && dead[failed] > 0:
				t.Errorf("while Redis is dead: %s", &l.phases[1])
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

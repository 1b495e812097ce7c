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

// A phase holds the outcomes of requests while Redis was in one state.
type phase struct {
	mu                                sync.Mutex
	passed, refused, failed, fallback int
	took                              []time.Duration
	stall                             time.Duration // the latest that the machine woke a goroutine which only sleeps
}

func (p *phase) note(d *guard.Decision, err error, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.took = append(p.took, took)
	switch {
	case err != nil:
		p.failed++
	case d.Allowed:
		p.passed++
	default:
		p.refused++
	}
	if err == nil && d.Allowed && d.Fallback != guard.FallbackNone {
		p.fallback++
	}
}

// nap is the time between two requests of a goroutine, of which there are a thousand a second.
func (p *phase) nap() {
	began := time.Now()
	time.Sleep(time.Millisecond)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stall = max(p.stall, time.Since(began)-time.Millisecond)
}

func (p *phase) quantile(q float64) time.Duration {
	slices.Sort(p.took)
	return p.took[int(q*float64(len(p.took)-1))].Round(time.Microsecond)
}

func (p *phase) String() string {
	return fmt.Sprintf("%d passed, %d refused, %d failed; p50 %v, p99 %v, longest %v",
		p.passed, p.refused, p.failed, p.quantile(0.5), p.quantile(0.99), p.quantile(1))
}

// Redis is killed and comes back under load, with nothing saved. docs/failures.md#when-redis-does-not-answer has a run's table.
func TestDecide_redisIsKilledAndRestartedUnderLoad(t *testing.T) {
	const subjects, limit = 50, 20
	for _, contract := range []policy.OnFailure{policy.Open, policy.Closed, policy.Local} {
		t.Run(string(contract), func(t *testing.T) {
			t.Parallel()
			server := engines.OnPath(t).Start(t)
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
			defer rdb.Close()
			p := chat(policy.Limit{Name: "hour", Limit: limit, Window: time.Hour, OnFailure: contract})
			p.Share = 0.5
			p.Timeout = 50 * time.Millisecond
			g := newGuard(t, rdb, p, guard.Options{BreakFor: 100 * time.Millisecond, CacheSize: -1})

			var now atomic.Int32
			phases := [3]phase{}
			var counted [3][subjects]atomic.Int64 // decided by Redis
			var alone [subjects]atomic.Int64      // by a fallback
			ctx, stop := context.WithCancel(t.Context())
			var load sync.WaitGroup
			for range 4 {
				load.Go(func() {
					for ctx.Err() == nil {
						subject := rand.IntN(subjects)
						at, began := now.Load(), time.Now()
						d, err := g.Decide(context.Background(), guard.Request{Endpoint: "chat", Subjects: []string{fmt.Sprint("ip=user", subject)}})
						if err != nil && !errors.Is(err, guard.ErrUnavailable) {
							t.Error(err)
						}
						if at == now.Load() { // within one state
							phases[at].note(d, err, time.Since(began))
						}
						switch {
						case err != nil || !d.Allowed:
						case d.Fallback == guard.FallbackNone:
							counted[at][subject].Add(1)
						default:
							alone[subject].Add(1)
						}
						phases[at].nap()
					}
				})
			}
			// On a busy machine some answers are late, but counted.
			awaitPhase(t, &phases[0], func(p *phase) bool { return p.passed+p.failed >= subjects*limit })
			server.Kill()
			now.Store(1)
			awaitPhase(t, &phases[1], func(p *phase) bool { return len(p.took) > 2000 })
			server.Restart(t)
			now.Store(2)
			awaitPhase(t, &phases[2], func(p *phase) bool { return p.passed-p.fallback > subjects*limit/2 && p.refused > 2000 })
			stop()
			load.Wait()

			for i, name := range []string{"alive", "killed", "restarted"} {
				t.Logf("%-6s %-9s %s", contract, name, &phases[i])
				// go-redis alone takes seconds; a decision is woken several times, each as late as a sleeper on a busy machine.
				if longest := phases[i].quantile(1); longest > time.Second+10*phases[i].stall {
					t.Errorf("%s, %s: a decision took %v with a deadline of 50ms, where a sleeper was woken at most %v late", contract, name, longest, phases[i].stall)
				}
			}
			for i := range subjects {
				// The killed server lost its counts, so a subject gets its limit again, besides what its failure mode admits.
				for _, at := range []int{0, 2} {
					if n := counted[at][i].Load(); n > limit {
						t.Errorf("%s: %d pass a limit of %d", contract, n, limit)
					}
				}
				if n := alone[i].Load(); contract == policy.Local && n > limit/2 {
					t.Errorf("%d pass a share of %d in this process", n, limit/2)
				}
			}
			switch dead := &phases[1]; {
			case contract == policy.Open && dead.failed > 0, contract == policy.Closed && dead.fallback > 0, contract == policy.Local && dead.failed > 0:
				t.Errorf("%s while Redis is dead: %s", contract, dead)
			}
		})
	}
}

func awaitPhase(t *testing.T, p *phase, done func(*phase) bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		p.mu.Lock()
		reached := done(p)
		p.mu.Unlock()
		if reached {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: %s", p)
		}
	}
}

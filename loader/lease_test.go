package loader_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// A watch is a hook that runs before each command, also in a pipeline.
type watch struct{ before func(words string) }

func (w watch) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (w watch) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.before(strings.Trim(fmt.Sprint(cmd.Args()), "[]"))
		return next(ctx, cmd)
	}
}

func (w watch) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			w.before(strings.ToUpper(cmd.Name()) + " " + strings.Trim(fmt.Sprint(cmd.Args()[1:]), "[]"))
		}
		return next(ctx, cmds)
	}
}

// A meeting blocks its callers until the expected number has arrived.
type meeting struct {
	t        *testing.T
	what     string
	expected int
	mu       sync.Mutex
	came     map[string]bool
	all      chan struct{}
}

func meet(t *testing.T, what string, expected int) *meeting {
	return &meeting{t: t, what: what, expected: expected, came: map[string]bool{}, all: make(chan struct{})}
}

func (m *meeting) wait(who string) {
	m.mu.Lock()
	if !m.came[who] {
		m.came[who] = true
		if len(m.came) == m.expected {
			close(m.all)
		}
	}
	n := len(m.came)
	m.mu.Unlock()
	select {
	case <-m.all:
	case <-time.After(time.Minute):
		m.t.Errorf("%s: only %d of %d nodes at once", m.what, n, m.expected)
	}
}

func TestLock_locksNodesConcurrently(t *testing.T) {
	const nodes = 5
	taken, freed := meet(t, "locks taken", nodes), meet(t, "locks freed", nodes)
	ring, _ := ringOf(t, nodes, func(addr string) redis.Hook {
		return watch{func(words string) {
			switch {
			case strings.HasPrefix(words, "SET "+lockOfOne+" "):
				taken.wait(addr)
			case words == "DEL "+lockOfOne:
				freed.wait(addr)
			}
		}}
	})
	target := loader.NewTarget(ring)
	r, err := target.Apply(t.Context(), planOf(t, target, bundle("shop", "1.0.0", "buy")), as("anna"))
	equal(t, "error and changes", []any{nil, nodes}, []any{err, r.Changed()})
	equal(t, "nodes whose locks were freed", nodes, len(freed.came))
}

// All locks stay valid even if one node does not answer a renewal.
func TestLock_silentNodeDoesNotBlockRenewal(t *testing.T) {
	loader.SetLockTimes(t, 30*time.Second, 5*time.Millisecond)
	silence := make(chan struct{})
	defer close(silence)
	var mu sync.Mutex
	renewed, silent := map[string]int{}, ""
	enough := make(chan struct{})
	const nodes = 4
	ring, addrs := ringOf(t, nodes, func(addr string) redis.Hook {
		return watch{func(words string) {
			switch {
			case strings.HasPrefix(words, "GETEX "+lockOfOne+" ") && addr == silent:
				<-silence
			case strings.HasPrefix(words, "GETEX "+lockOfOne+" "):
				mu.Lock()
				defer mu.Unlock()
				renewed[addr]++
				for _, n := range renewed {
					if n < 2 || len(renewed) < nodes-1 {
						return
					}
				}
				select {
				case <-enough:
				default:
					close(enough)
				}
			case words == "EXEC":
				select { // the loads last until every lock but one was renewed twice
				case <-enough:
				case <-time.After(time.Minute):
					t.Errorf("renewals: %v", renewed)
				}
			}
		}}
	})
	silent = addrs[0]
	target := loader.NewTarget(ring)
	r, err := target.Apply(t.Context(), planOf(t, target, bundle("shop", "1.0.0", "buy")), as("anna"))
	equal(t, "error and changes", []any{nil, nodes}, []any{err, r.Changed()})
}

func TestLock_lostLockIsAnErrorAfterFullLoad(t *testing.T) {
	lib := bundle("shop", "1.0.0", "buy")
	onEngines(t, func(t *testing.T, e engines.Engine, _ *redis.Client) {
		for name, key := range map[string]string{"of the target": leaseOfOne, "of the node": lockOfOne} {
			t.Run(name, func(t *testing.T) {
				client := e.Client(t)
				// The loads are over when the end is written.
				ended := e.Connect(t, nil)
				writes := 0
				ended.AddHook(watch{func(words string) {
					if strings.HasPrefix(words, "RPUSH ") {
						if writes++; writes == 2 {
							client.Del(t.Context(), key) // as its expiry does
						}
					}
				}})
				r, err := apply(ended, plan(t, client, lib), as("anna"))
				says(t, err, loader.ErrLockLost, "keep the lock", "expired or was removed before the operation ended")
				equal(t, "outcomes", []string{"shop_v1 loaded"}, outcomes(r))
				if r.Problem == nil || r.Problem.Reason != loader.ErrLockLost {
					t.Errorf("problem is %v", r.Problem)
				}
			})
		}
	})
}

// The slots of a node choose the key of its fence. Two deployers that see different slots choose different keys, but the lease is one key.
func TestCluster_migratingSlotsKeepLockExclusive(t *testing.T) {
	t.Parallel()
	c := engines.OnPath(t).StartCluster(t, 2, 0)
	a, b := c.Primaries[0], c.Primaries[1]
	target := loader.NewTarget(c.Client(t))
	var refused error
	client := clusterOf(t, c.Addrs(), "", func(addr string) redis.Hook {
		if addr != a.Addr {
			return nil
		}
		return &between{words: atExec, run: func() {
			// rlfunc:{deploy:0} of a and rlfunc:{deploy:2} of b are in slots that begin to move.
			for _, move := range []struct {
				slot     int
				from, to *engines.Member
			}{{2219, a, b}, {10473, b, a}} {
				for m, words := range map[*engines.Member][]any{
					move.to:   {"CLUSTER", "SETSLOT", move.slot, "IMPORTING", move.from.ClusterID(t)},
					move.from: {"CLUSTER", "SETSLOT", move.slot, "MIGRATING", move.to.ClusterID(t)},
				} {
					if err := m.Client(t).Do(t.Context(), words...).Err(); err != nil {
						t.Error(err)
					}
				}
			}
			_, refused = target.Apply(t.Context(), planOf(t, target, bundle("other", "1.0.0", "look")), as("bert"))
		}}
	})
	deployTo(t, loader.NewTarget(client), "anna", bundle("shop", "1.0.0", "buy"))
	says(t, refused, loader.ErrLocked, "deploy: anna has held the lock")
}

func TestLock_saysWhoHoldsTheTarget(t *testing.T) {
	ring, _ := ringOf(t, 3, func(string) redis.Hook { return nil })
	target := loader.NewTarget(ring)
	var during *loader.Lock
	o := as("anna")
	o.OnNode = func(loader.NodeSteps) { during, _ = target.Lock(t.Context()) }
	if _, err := target.Apply(t.Context(), planOf(t, target, bundle("shop", "1.0.0", "buy")), o); err != nil {
		t.Fatal(err)
	}
	if during == nil || during.By != "anna" || during.Op != loader.OpDeploy || during.ID != history(t, ring)[0].ID {
		t.Errorf("the lock is %+v", during)
	}
	after, err := target.Lock(t.Context())
	equal(t, "lock and error afterwards", []any{(*loader.Lock)(nil), nil}, []any{after, err})
}

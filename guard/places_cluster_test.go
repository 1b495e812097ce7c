package guard_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// On a cluster, the places of a request are on several servers. Fifty requests of ten clients at once have three places in all, and each
// server has all of its places back in the end.
func TestDecide_placesOnACluster(t *testing.T) {
	cluster := engines.OnPath(t).StartCluster(t, 3, 0)
	p := chat(policy.Limit{Name: "own", Kind: policy.Concurrency, Limit: 2, Lease: 30 * time.Second})
	p.Limits = byAll(policy.Limit{Name: "all", Kind: policy.Concurrency, Limit: 3, Lease: 30 * time.Second})
	g, other := newGuard(t, cluster.Client(t), p, guard.Options{}), newGuard(t, cluster.Client(t), p, guard.Options{})
	request := func(client int) guard.Request {
		return guard.Request{Endpoint: "chat", Subjects: []string{"ip=" + strconv.Itoa(client)}}
	}
	for round := range 3 {
		var wg sync.WaitGroup
		var lost []<-chan struct{}
		var held []*guard.Decision
		var mu sync.Mutex
		for i := range 50 {
			wg.Go(func() {
				d, err := g.Decide(t.Context(), request(i%10))
				if err != nil || d.Fallback != guard.FallbackNone {
					t.Errorf("%+v, %v", d, err)
					return
				}
				if d.Allowed {
					mu.Lock()
					defer mu.Unlock()
					held = append(held, d)
					lost = append(lost, d.Charge.Keep())
				}
			})
		}
		wg.Wait()
		guard.WaitBackground(g)
		// A refusal by one server may keep a place of another until it is refunded, so fewer may pass at once, or none.
		if len(held) > 3 {
			t.Fatalf("round %d: %d of 50 have a place, want at most 3", round, len(held))
		}
		for i := len(held); i < 3; i++ {
			d := decide(t, g, request(100+i))
			if !d.Allowed {
				t.Fatalf("round %d: %d places are free, and a request is refused: %+v", round, 3-i, d)
			}
			held, lost = append(held, d), append(lost, d.Charge.Keep())
		}
		guard.WakePlaces(g, 11*time.Second) // renews on each server
		if d := decide(t, g, request(200)); d.Allowed || d.Reason != guard.ReasonGlobal {
			t.Errorf("round %d: a fourth: %+v", round, d)
		}
		guard.WaitBackground(g)
		for i, d := range held {
			select {
			case <-lost[i]:
				t.Errorf("round %d: a place was lost", round)
			default:
			}
			if i == 0 {
				d.Charge.End(t.Context(), guard.End{})
				continue
			}
			// Another process has the others.
			c, err := other.Charge(d.Charge.Detach().Text())
			if err != nil {
				t.Fatal(err)
			}
			if left, err := c.Renew(t.Context()); err != nil || left == 0 {
				t.Errorf("round %d: renewed for %v: %v", round, left, err)
			}
			if released, err := c.Release(t.Context()); err != nil || !released {
				t.Errorf("round %d: released %v: %v", round, released, err)
			}
		}
		guard.WaitBackground(g)
		for i := range 10 {
			a, b := decide(t, g, request(i)), decide(t, g, request(i))
			if !a.Allowed || !b.Allowed {
				t.Errorf("round %d: client %d has not two places: %+v %+v", round, i, a, b)
			}
			a.Charge.End(t.Context(), guard.End{})
			b.Charge.End(t.Context(), guard.End{})
			guard.WaitBackground(g)
		}
	}
}

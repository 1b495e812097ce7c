package guard

import (
	"context"

	"github.com/rlfunc/rlfunc/guard/internal/decide"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// WaitAtMost decides for a batch: it admits as many of r.Weight requests as there is room for, and returns how many. While there is
// room for none, it waits for one, like Wait. It is for consumers that take work in batches. A limit of kind sliding_log counts a batch
// once. If others take the room meanwhile, it may admit fewer than were free.
func (g *Guard) WaitAtMost(ctx context.Context, r Request) (*Decision, int64, error) {
	most, costs, err := g.largestWeight(&r)
	if err != nil {
		return nil, 0, err
	}
	for tries := 0; tries < 2 && most > 1; tries++ {
		r.Weight = most
		d, err := g.Decide(ctx, r)
		if err != nil {
			return d, 0, err
		}
		if d.Allowed {
			return d, most, nil
		}
		most = min(most-1, d.room(costs))
	}
	r.Weight = 1
	d, err := g.Wait(ctx, r)
	if err != nil || !d.Allowed {
		return d, 0, err
	}
	return d, 1, nil
}

// largestWeight returns the request's weight, or the largest one that its limits could ever admit if that is less, and what each limit
// costs, by wire name.
func (g *Guard) largestWeight(r *Request) (most int64, costs map[string]int64, err error) {
	request := (*decide.Request)(r)
	ep, err := g.rules.Load().ForSubjects(r.Subjects).EndpointFor(request)
	if err != nil {
		return 0, nil, err
	}
	if err := request.Check(); err != nil {
		return 0, nil, err
	}
	most, costs = r.Weight, map[string]int64{}
	for i := range ep.Rows {
		l := &ep.Rows[i].Limit
		if policy.Kind(l.Kind) == policy.SlidingLog || l.Cost == nil || *l.Cost == 0 {
			continue
		}
		capacity := l.Limit
		if l.Burst > 0 {
			capacity = l.Burst
		}
		if policy.Kind(l.Kind) == policy.Concurrency {
			capacity = min(capacity, maxPlaces)
		}
		most = min(most, capacity / *l.Cost)
		costs[l.Name] = *l.Cost
	}
	return most, costs, nil
}

// maxPlaces is the most places of one request; see gen/guard.
const maxPlaces = 1000

// room returns the largest weight that fits what the limits that refused had left; 0 if none does.
func (d *Decision) room(costs map[string]int64) int64 {
	var room int64
	for i := range d.Limits {
		l := &d.Limits[i]
		if cost := costs[wire.LimitName(l.Endpoint, l.Name)]; !l.Allowed && !l.Shadow && cost > 0 && (room == 0 || l.Remaining/cost < room) {
			room = l.Remaining / cost
		}
	}
	return room
}

package decide

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// Places are what one call of admit charged of limits of kind concurrency. They do not depend on the policy, so they outlast a reload.
type Places struct {
	Subject fcall.Subject           // of the call
	Rows    []guard.Limit           // the limits; read-only
	Limits  fcall.Rows[guard.Limit] `json:"-"` // the same, encoded
	Of      []fcall.Subject         // of the limits
	Holder  string
	Lease   time.Duration `json:"-"` // the shortest of the limits
	Node    string        `json:"-"` // that has them; "" if there is one
}

// Complete fills in what the text of places does not have. It reports whether they are places.
func (p *Places) Complete() bool {
	for _, row := range p.Rows {
		if row.Kind != guard.LimitKindConcurrency {
			return false
		}
	}
	p.Lease = shortestLease(p.Rows)
	p.Limits = guard.PackLimit(p.Rows...).For(p.Of...)
	return p.Subject != "" && len(p.Rows) > 0 && len(p.Of) == len(p.Rows)
}

// shortestLease returns the shortest lease of limits of kind concurrency; 0 without limits.
func shortestLease(rows []guard.Limit) (shortest time.Duration) {
	for i := range rows {
		if lease := rows[i].Window; i == 0 || lease < shortest {
			shortest = lease
		}
	}
	return shortest
}

// A Lease is the lease on the places of one call. Guarded by its keeper.
type Lease struct {
	Places

	keeper   *Keeper
	begin    monotime.Time // before the call that charged it, or the last renewal
	due      monotime.Time // of the next call, while queued
	position int           // in the keeper's queue; -1 while not queued
	calling  bool          // a call is under way or waits for its node
	kept     bool          // it is renewed
	released bool          // it is to be released
	stray    bool          // it is not known whether the call arrived, or will
	lost     func()        // called once the places are lost; must not block
}

// ends returns when the places may be lost. Redis starts the lease later than begin.
func (l *Lease) ends() monotime.Time { return l.begin.Add(l.Places.Lease) }

// Left returns how long the lease lasts from now on.
func (l *Lease) Left() time.Duration {
	l.keeper.mu.Lock()
	defer l.keeper.mu.Unlock()
	return max(l.ends().Since(monotime.Now()), 0)
}

// Local reports whether only this process can renew the lease.
func (l *Lease) Local() bool { return l.keeper.Local }

// Keep renews the lease until Release. Without it, the lease ends by itself.
func (l *Lease) Keep() {
	k := l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.kept || l.released || k.closed {
		return
	}
	l.kept = true
	k.queue(l, l.begin.Add(l.Places.Lease/renewals))
}

// Release releases the places in the background. Only the first call has an effect.
func (l *Lease) Release() {
	k := l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.released {
		return
	}
	l.released = true
	if !l.calling {
		k.unqueue(l)
		k.send(l)
	}
}

// markFor is how long a call is refused that arrives after the release of its places: longer than any that is under way.
const markFor = time.Minute

// A LeaseCall renews a lease or releases it.
type LeaseCall struct {
	Lease   *Lease
	Release bool
	Lost    bool  // the holder did not have all places any longer
	Err     error // of the call; its outcome may be unknown
}

// Make makes the call.
func (c *LeaseCall) Make(ctx context.Context, client *guard.Client) {
	l := c.Lease
	if !c.Release {
		var r guard.RenewResult
		r, c.Err = client.Renew(ctx, guard.RenewParams{Subject: l.Subject, Limits: l.Limits, Holder: l.Holder})
		c.Lost = r.Lost > 0
		return
	}
	p := guard.ReleaseParams{Subject: l.Subject, Limits: l.Limits, Holder: l.Holder}
	if l.stray {
		p.Mark = markFor
	}
	r, err := client.Release(ctx, p)
	c.Err, c.Lost = err, r.Released < int64(len(l.Of))
}

// CallNow renews leases of one holder, or releases them, in one round trip to each node. It reports whether the holder has lost some.
func CallNow(leases []*Lease, release bool) (lost bool, err error) {
	type place struct {
		keeper *Keeper
		node   string
	}
	sent, calls := monotime.Now(), map[place][]LeaseCall{}
	for _, l := range leases {
		at := place{l.keeper, l.Node}
		calls[at] = append(calls[at], LeaseCall{Lease: l, Release: release})
	}
	var made sync.WaitGroup
	for at, all := range calls {
		made.Go(func() { at.keeper.Do(at.node, all) })
	}
	made.Wait()
	for at, all := range calls {
		at.keeper.note(all, sent)
		for i := range all {
			lost, err = lost || all[i].Lost, cmp.Or(err, all[i].Err)
		}
	}
	return lost, err
}

// note records the results of calls that CallNow sent at a time.
func (k *Keeper) note(calls []LeaseCall, sent monotime.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range calls {
		c := &calls[i]
		switch {
		case c.Err != nil:
		case c.Release:
			c.Lease.released = true
			k.unqueue(c.Lease)
		case !c.Lost:
			c.Lease.begin = sent
		}
	}
}

// CallLeases makes calls to one node, which share round trips, within a timeout and behind the node's circuit breaker.
func (a *Asker) CallLeases(node string, calls []LeaseCall, timeout time.Duration) {
	permit, ok := a.Breakers.Allow(node)
	if !ok {
		for i := range calls {
			calls[i].Err = ErrBreaker
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var made sync.WaitGroup
	for i := range calls {
		made.Go(func() { calls[i].Make(ctx, a.Client) })
	}
	made.Wait()
	var failed error
	for i := range calls {
		failed = cmp.Or(failed, calls[i].Err)
	}
	permit.Done(failed)
}

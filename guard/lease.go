package guard

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// places are what one call of admit charged of limits of kind concurrency. They do not depend on the policy, so they outlast a reload.
type places struct {
	Subject fcall.Subject              // of the call
	Rows    []genguard.Limit           // the limits; read-only
	Limits  fcall.Rows[genguard.Limit] `json:"-"` // the same, encoded
	Of      []fcall.Subject            // of the limits
	Holder  string
	Lease   time.Duration `json:"-"` // the shortest of the limits
	Node    string        `json:"-"` // that has them; "" if there is one
}

// complete fills in what the text of places does not have. It reports whether they are places.
func (p *places) complete() bool {
	for _, row := range p.Rows {
		if row.Kind != genguard.LimitKindConcurrency {
			return false
		}
	}
	p.Lease = shortestLease(p.Rows)
	p.Limits = genguard.PackLimit(p.Rows...).For(p.Of...)
	return p.Subject != "" && len(p.Rows) > 0 && len(p.Of) == len(p.Rows)
}

// shortestLease returns the shortest lease of limits of kind concurrency; 0 without limits.
func shortestLease(rows []genguard.Limit) (shortest time.Duration) {
	for i := range rows {
		if lease := rows[i].Window; i == 0 || lease < shortest {
			shortest = lease
		}
	}
	return shortest
}

// A lease is the lease on the places of one call. Guarded by its keeper.
type lease struct {
	places

	keeper   *keeper
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
func (l *lease) ends() monotime.Time { return l.begin.Add(l.places.Lease) }

// left returns how long the lease lasts from now on.
func (l *lease) left() time.Duration {
	l.keeper.mu.Lock()
	defer l.keeper.mu.Unlock()
	return max(l.ends().Since(monotime.Now()), 0)
}

// local reports whether only this process can renew the lease.
func (l *lease) local() bool { return l.keeper.local }

// keep renews the lease until Release. Without it, the lease ends by itself.
func (l *lease) keep() {
	k := l.keeper
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.kept || l.released || k.closed {
		return
	}
	l.kept = true
	k.queue(l, l.begin.Add(l.places.Lease/renewals))
}

// release releases the places in the background. Only the first call has an effect.
func (l *lease) release() {
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

// A leaseCall renews a lease or releases it.
type leaseCall struct {
	lease   *lease
	release bool
	lost    bool  // the holder did not have all places any longer
	err     error // of the call; its outcome may be unknown
}

// send makes the call.
func (c *leaseCall) send(ctx context.Context, client *genguard.Client) {
	l := c.lease
	if !c.release {
		var r genguard.RenewResult
		r, c.err = client.Renew(ctx, genguard.RenewParams{Subject: l.Subject, Limits: l.Limits, Holder: l.Holder})
		c.lost = r.Lost > 0
		return
	}
	p := genguard.ReleaseParams{Subject: l.Subject, Limits: l.Limits, Holder: l.Holder}
	if l.stray {
		p.Mark = markFor
	}
	r, err := client.Release(ctx, p)
	c.err, c.lost = err, r.Released < int64(len(l.Of))
}

// callNow renews leases of one holder, or releases them, in one round trip to each node. It reports whether the holder has lost some.
func callNow(leases []*lease, release bool) (lost bool, err error) {
	type place struct {
		keeper *keeper
		node   string
	}
	sent, calls := monotime.Now(), map[place][]leaseCall{}
	for _, l := range leases {
		at := place{l.keeper, l.Node}
		calls[at] = append(calls[at], leaseCall{lease: l, release: release})
	}
	var made sync.WaitGroup
	for at, all := range calls {
		made.Go(func() { at.keeper.do(at.node, all) })
	}
	made.Wait()
	for at, all := range calls {
		at.keeper.note(all, sent)
		for i := range all {
			lost, err = lost || all[i].lost, cmp.Or(err, all[i].err)
		}
	}
	return lost, err
}

// note records the results of calls that callNow sent at a time.
func (k *keeper) note(calls []leaseCall, sent monotime.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range calls {
		c := &calls[i]
		switch {
		case c.err != nil:
		case c.release:
			c.lease.released = true
			k.unqueue(c.lease)
		case !c.lost:
			c.lease.begin = sent
		}
	}
}

// callLeases makes calls to one node, which share round trips, within a timeout and behind the node's circuit breaker.
func (a *asker) callLeases(node string, calls []leaseCall, timeout time.Duration) {
	permit, ok := a.breakers.allow(node)
	if !ok {
		for i := range calls {
			calls[i].err = ErrBreaker
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var made sync.WaitGroup
	for i := range calls {
		made.Go(func() { calls[i].send(ctx, a.client) })
	}
	made.Wait()
	var failed error
	for i := range calls {
		failed = cmp.Or(failed, calls[i].err)
	}
	permit.done(failed)
}

// Package places renews the leases on the places of running requests, and releases them.
package places

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
)

// Places are what one call of admit charged of limits of kind concurrency. They do not depend on the policy, so they outlast a reload.
type Places struct {
	Subject fcall.Subject   // of the call
	Rows    []guard.Limit   // the limits; read-only
	Limits  guard.LimitPack `json:"-"` // the pack of Rows
	Of      []fcall.Subject // of the limits
	Holder  string
	Lease   time.Duration `json:"-"` // the shortest of the limits
	Node    string        `json:"-"` // that has them; "" if there is one
}

// ShortestLease returns the shortest lease of limits of kind concurrency; 0 without limits.
func ShortestLease(rows []guard.Limit) (shortest time.Duration) {
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

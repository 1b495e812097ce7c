package guard

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/places"
)

// A LeaseOutcome is the end of a call of RenewLease or ReleaseLease.
type LeaseOutcome string

// The outcomes. A lost lease was released before, has ended, or lost its places otherwise.
const (
	LeaseRenewed  LeaseOutcome = "renewed"
	LeaseReleased LeaseOutcome = "released"
	LeaseLost     LeaseOutcome = "lost"
)

// Lease returns text with which any process can renew and release the request's places, see [Guard.RenewLease], and how long they are kept
// without. It is "" if Redis charged none. After it, Release does nothing. Places of failure mode local are not in it: they end by themselves.
func (d *Decision) Lease() (text string, expiresAfter time.Duration) {
	h := d.places
	if h == nil {
		return "", 0
	}
	var held []places.Places
	for _, l := range h.leases {
		if l.Local() {
			continue
		}
		if left := l.Left(); len(held) == 0 || left < expiresAfter {
			expiresAfter = left
		}
		held = append(held, l.Places)
	}
	if len(held) == 0 {
		return "", 0
	}
	h.detached.Store(true)
	return h.guard.encodeOpaque(held), expiresAfter
}

// RenewLease keeps the places of a decision for their leases from now on. It returns how long that is, or 0 if some are lost: then other
// requests may have them. Causes are that the lease has ended or was released, that Redis lost the keys, or that an operator reset the limit.
// It returns within the policy's timeout. After an error, retry while the lease lasts. Text that is not a lease is an error that wraps
// fcall.ErrArgument.
//
// A lease is not signed. Accept it only from programs that Decide returned it to.
func (g *Guard) RenewLease(ctx context.Context, lease string) (expiresAfter time.Duration, err error) {
	sent := monotime.Now()
	shortest, held, err := g.callLease(ctx, lease, false)
	if !held || err != nil {
		return 0, err
	}
	return max(shortest-monotime.Now().Since(sent), 1), nil
}

// ReleaseLease releases the places of a decision. It reports whether the request still had all of them. After an error the caller may retry;
// see RenewLease.
func (g *Guard) ReleaseLease(ctx context.Context, lease string) (released bool, err error) {
	_, held, err := g.callLease(ctx, lease, true)
	return held && err == nil, err
}

// callLease makes the calls of a lease, in one round trip to each node. held reports whether the request had all places.
func (g *Guard) callLease(ctx context.Context, text string, release bool) (shortest time.Duration, held bool, err error) {
	all, err := g.parseLease(text)
	if err != nil {
		return 0, false, err
	}
	outcome := LeaseRenewed
	if release {
		outcome = LeaseReleased
	}
	nodes := map[string][]places.Call{}
	for i := range all {
		p := g.located(all[i])
		if i == 0 || p.Lease < shortest {
			shortest = p.Lease
		}
		nodes[p.Node] = append(nodes[p.Node], places.Call{Lease: &places.Lease{Places: p}, Release: release})
	}
	var sent sync.WaitGroup
	for node, calls := range nodes {
		sent.Go(func() { g.callPlaces(node, calls) })
	}
	sent.Wait()
	for _, calls := range nodes {
		for i := range calls {
			err = cmp.Or(err, calls[i].Err)
			if calls[i].Lost {
				outcome = LeaseLost
			}
		}
	}
	g.hooks.leased(ctx, outcome, err)
	return shortest, outcome != LeaseLost, err
}

func (g *Guard) parseLease(text string) ([]places.Places, error) {
	invalid := &fcall.ArgumentError{Function: "guard.lease", Name: "lease", Must: "be a lease of a decision in namespace " + g.namespace(), Got: fmt.Sprintf("%.16q", text)}
	var all []places.Places
	if !g.decodeOpaque(text, &all) || len(all) == 0 || len(all) > maxCalls {
		return nil, invalid
	}
	for i := range all {
		p := &all[i]
		for _, row := range p.Rows {
			if row.Kind != genguard.LimitKindConcurrency {
				return nil, invalid
			}
		}
		p.Lease = places.ShortestLease(p.Rows)
		var err error
		if p.Limits, err = genguard.PackLimit(p.Rows...); err != nil || len(p.Of) != len(p.Rows) {
			return nil, invalid
		}
	}
	return all, nil
}

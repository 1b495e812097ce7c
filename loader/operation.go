package loader

import (
	"context"
	"slices"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/lock"
)

// An operation holds the locks of a change and records it.
type operation struct {
	*locks
	records records
	event   Event
	changes []nodeChange
}

// lock takes the locks of the target and of the nodes that an operation changes.
func (s *session) lock(ctx context.Context, states []NodeState, op Op, o LockOptions) (*operation, error) {
	l, err := takeLocks(ctx, s, states, op, o)
	if err != nil {
		return nil, err
	}
	return &operation{locks: l, records: s.records, event: Event{ID: l.token, Op: op, By: l.by, Outcome: EventUnfinished}}, nil
}

// fence returns the lock on a node, or nil for a caller without connections.
func (g *operation) fence(n *node) *lock.Lock {
	if g == nil {
		return nil
	}
	return g.locks.fence(n)
}

// begin records the releases that the operation replaces and loads, and that it begins. If that fails the operation does not
// run.
func (g *operation) begin(ctx context.Context, p *Plan, states []NodeState, o ApplyOptions) error {
	now, err := g.records.now(ctx)
	if err != nil {
		return err
	}
	g.event.At = now
	recorded, err := g.records.known(ctx)
	if err != nil {
		return err
	}
	for i, lib := range p.libs {
		replaced, coming := "", false
		for j, n := range p.Nodes {
			s := n.Steps[i]
			if !o.wants(s) {
				continue
			}
			coming = true
			g.changes = append(g.changes, nodeChange{n.Addr, EventChange{Library: s.Library, From: s.From, To: s.To}})
			there := held(states[j], s.Library)
			if there == nil {
				continue
			}
			id := releaseID(there.Version, there.Digest)
			if replaced == "" || semver.Compare("v"+there.Version, "v"+versionOf(replaced)) > 0 {
				replaced = id
			}
			if err := g.keepFound(ctx, recorded, *there, now); err != nil {
				return err
			}
		}
		if !coming {
			continue
		}
		id := lib.ServerName + "@" + releaseID(lib.Version, lib.Digest())
		r, ok := recorded[id]
		if !ok {
			r = Release{Library: lib.ServerName, Name: lib.Name, Version: lib.Version, Digest: lib.Digest(), Recorded: now}
		}
		if replaced != "" && semver.Compare("v"+versionOf(replaced), "v"+lib.Version) <= 0 {
			r.Replaced = replaced // a rollback leads to a lower version, never back to the one it has left
		}
		if err := g.records.keep(ctx, r, lib.Code); err != nil {
			return err
		}
	}
	return g.record(ctx)
}

// record stores the current event.
func (g *operation) record(ctx context.Context) error {
	g.event.Changes = grouped(g.changes)
	return g.records.event(ctx, g.event)
}

// keepFound records a node's library unless it is recorded already.
func (g *operation) keepFound(ctx context.Context, recorded map[string]Release, found LoadedLibrary, now time.Time) error {
	r := Release{Library: found.ServerName, Name: found.Name, Version: found.Version, Digest: found.Digest, Recorded: now}
	field := r.Library + "@" + r.ID()
	if _, ok := recorded[field]; ok {
		return nil
	}
	recorded[field] = r
	return g.records.keep(ctx, r, found.Code)
}

// end records the outcome. A failure is a warning, because the libraries are loaded.
func (g *operation) end(ctx context.Context, p *Plan, r *Result) {
	if g == nil || g.event.At.IsZero() {
		return // begin has not run
	}
	g.atEnd(ctx, r, func(ctx context.Context, now time.Time) error { return g.conclude(ctx, p, r, now) })
}

// atEnd writes even if ctx is over.
func (g *operation) atEnd(ctx context.Context, r *Result, write func(context.Context, time.Time) error) {
	ctx, cancel := conn.ForCleanup(ctx)
	defer cancel()
	now, err := g.records.now(ctx)
	if err == nil {
		err = write(ctx, now)
	}
	if err != nil {
		r.Warnings = append(r.Warnings, Warning{Code: "not_recorded", Text: "the outcome could not be recorded: " + oneLine(err.Error())})
	}
}

func (g *operation) conclude(ctx context.Context, p *Plan, r *Result, now time.Time) error {
	recorded, err := g.records.known(ctx)
	if err != nil {
		return err
	}
	for i, lib := range p.libs {
		id := lib.ServerName + "@" + releaseID(lib.Version, lib.Digest())
		changed := false
		var digests []string
		for _, n := range r.Nodes {
			changed = changed || n.Steps[i].Outcome.changed()
		}
		for _, n := range p.Nodes {
			s := n.Steps[i]
			if s.FromDigest != "" {
				digests = append(digests, s.FromDigest)
			}
			field := s.Library + "@" + releaseID(s.From, s.FromDigest)
			from, ok := recorded[field]
			if changed && ok && s.Action == Downgrade {
				delete(recorded, field) // once for all nodes
				from.RolledBack = &RolledBack{At: now, By: g.by, To: lib.Version}
				if err := g.records.keep(ctx, from, ""); err != nil {
					return err
				}
			}
		}
		if release, ok := recorded[id]; ok && changed {
			release.Deployed, release.By, release.RolledBack = now, g.by, nil
			if err := g.records.keep(ctx, release, ""); err != nil {
				return err
			}
			if err := g.records.trim(ctx, lib.ServerName, keptReleases, append(digests, lib.Digest())); err != nil {
				return err
			}
		}
	}
	return g.finish(ctx, r, now)
}

// finish records the event's outcome.
func (g *operation) finish(ctx context.Context, r *Result, now time.Time) error {
	g.event.Ended = now
	good, bad := 0, 0
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if s.Outcome.changed() {
				good++
			}
			if s.Problem != nil {
				bad++
			}
			i := slices.IndexFunc(g.changes, func(c nodeChange) bool { return c.node == n.Addr && c.Library == s.Library })
			if i < 0 {
				if s.Problem == nil {
					continue
				}
				// A partial plan left out this node, which is unchanged.
				i = len(g.changes)
				g.changes = append(g.changes, nodeChange{n.Addr, EventChange{Library: s.Library, From: s.From}})
			}
			c := &g.changes[i]
			c.Outcome = s.Outcome
			if s.Problem != nil {
				c.Problem = oneLine(s.Problem.Text)
			}
		}
	}
	switch {
	case bad == 0:
		g.event.Outcome = EventDone
	case good > 0:
		g.event.Outcome = EventPartial
	default:
		g.event.Outcome = EventFailed
	}
	return g.record(ctx)
}

// known returns the releases by hash field.
func (rec records) known(ctx context.Context) (map[string]Release, error) {
	all, err := rec.releases(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]Release, len(all))
	for _, r := range all {
		known[r.Library+"@"+r.ID()] = r
	}
	return known, nil
}

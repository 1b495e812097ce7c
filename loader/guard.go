package loader

import (
	"context"
	"slices"
	"time"

	"golang.org/x/mod/semver"
)

// A guard is an operation under way: it holds the locks, and writes down what happens.
type guard struct {
	*locks
	book    book
	event   Event
	changes []nodeChange
}

// guard takes the locks of the target and of the nodes that an operation changes.
func (s *session) guard(ctx context.Context, states []NodeState, op Op, o LockOptions) (*guard, error) {
	l, err := lockAll(ctx, s, states, op, o)
	if err != nil {
		return nil, err
	}
	return &guard{locks: l, book: s.book, event: Event{ID: l.token, Op: op, By: l.by, Outcome: Unfinished}}, nil
}

// on is the node's fence; nil for a caller without connections.
func (g *guard) on(n *node) *lock {
	if g == nil {
		return nil
	}
	return g.fence(n)
}

// begin writes down what is about to be replaced, what is to come, and that it begins. What can not be written down is not done.
func (g *guard) begin(ctx context.Context, p *Plan, states []NodeState, o ApplyOptions) error {
	now, err := g.book.now(ctx)
	if err != nil {
		return err
	}
	g.event.At = now
	recorded, err := g.book.known(ctx)
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
			r.Replaced = replaced // a rollback leads down, and never to what it has just left
		}
		if err := g.book.keep(ctx, r, lib.Code); err != nil {
			return err
		}
	}
	return g.record(ctx)
}

// record writes the event as it is now.
func (g *guard) record(ctx context.Context) error {
	g.event.Changes = grouped(g.changes)
	return g.book.event(ctx, g.event)
}

// keepFound records what a node holds, unless it is recorded already.
func (g *guard) keepFound(ctx context.Context, recorded map[string]Release, found LoadedLibrary, now time.Time) error {
	r := Release{Library: found.ServerName, Name: found.Name, Version: found.Version, Digest: found.Digest, Recorded: now}
	field := r.Library + "@" + r.ID()
	if _, ok := recorded[field]; ok {
		return nil
	}
	recorded[field] = r
	return g.book.keep(ctx, r, found.Code)
}

// end writes down what has happened. The libraries are where they are by now, so that a failure is a warning.
func (g *guard) end(ctx context.Context, p *Plan, r *Result) {
	if g == nil || g.event.At.IsZero() {
		return // nothing was begun
	}
	g.atEnd(ctx, r, func(ctx context.Context, now time.Time) error { return g.conclude(ctx, p, r, now) })
}

// atEnd writes, also when ctx is over.
func (g *guard) atEnd(ctx context.Context, r *Result, write func(context.Context, time.Time) error) {
	ctx, cancel := ending(ctx)
	defer cancel()
	now, err := g.book.now(ctx)
	if err == nil {
		err = write(ctx, now)
	}
	if err != nil {
		r.Warnings = append(r.Warnings, Warning{Code: "not_recorded", Text: "what was done could not be written down: " + oneLine(err.Error())})
	}
}

func (g *guard) conclude(ctx context.Context, p *Plan, r *Result, now time.Time) error {
	recorded, err := g.book.known(ctx)
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
				delete(recorded, field) // once is enough for all nodes
				from.RolledBack = &RolledBack{At: now, By: g.by, To: lib.Version}
				if err := g.book.keep(ctx, from, ""); err != nil {
					return err
				}
			}
		}
		if release, ok := recorded[id]; ok && changed {
			release.Deployed, release.By, release.RolledBack = now, g.by, nil
			if err := g.book.keep(ctx, release, ""); err != nil {
				return err
			}
			if err := g.book.trim(ctx, lib.ServerName, keptReleases, append(digests, lib.Digest())); err != nil {
				return err
			}
		}
	}
	return g.finish(ctx, r, now)
}

// finish writes the event's end.
func (g *guard) finish(ctx context.Context, r *Result, now time.Time) error {
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
				// The plan was carried out without this node, which holds what it held.
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
		g.event.Outcome = Done
	case good > 0:
		g.event.Outcome = Partly
	default:
		g.event.Outcome = Fruitless
	}
	return g.record(ctx)
}

// known are the releases by the field that holds them.
func (b book) known(ctx context.Context) (map[string]Release, error) {
	all, err := b.releases(ctx)
	if err != nil {
		return nil, err
	}
	known := make(map[string]Release, len(all))
	for _, r := range all {
		known[r.Library+"@"+r.ID()] = r
	}
	return known, nil
}

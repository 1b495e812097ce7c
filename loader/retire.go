package loader

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/lock"
)

// RetireOptions configure a Retire. The zero value is useful.
type RetireOptions struct {
	// Force removes the library although it has recent clients, whose calls fail from then on. Defaults to ErrInUse.
	Force bool
	// Lock names the operator and bounds the wait for another deployer. Defaults to no wait.
	Lock LockOptions
}

// Retire removes the library from every node, under the lock of a deploy. It deletes nothing that rlfunc did not generate. If a
// node holds something that the plan lacks, the error is ErrChanged. Retire records the source first, so PlanRollback with To
// restores it, and deletes the records of other releases.
//
// A tombstone replaces the library: a small library of the same name that serves no calls. The server then refuses every load
// without REPLACE, such as those of [Ensure] and of clients. A deploy or a rollback replaces the tombstone. FUNCTION FLUSH,
// FUNCTION DELETE and a restart without persistence remove it like any library; retire again to restore it.
func (t *Target) Retire(ctx context.Context, p *Retirement, o RetireOptions) (*Result, error) {
	if p == nil || p.Library == "" {
		return nil, &Error{Op: "retire", Reason: ErrPlan, Text: "the plan names no library"}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	var g *operation
	if p.Changes() {
		if g, err = s.lock(ctx, states, OpRetire, o.Lock); err != nil {
			return nil, err
		}
		defer g.release(ctx)
		states = s.check(ctx)
	}
	now, err := s.planRetire(ctx, states, p.Library)
	if err == nil {
		err = now.Err()
	}
	if err == nil {
		err = p.moved(now)
	}
	if err == nil && now.Changes() && !o.Force {
		err = now.InUse()
	}
	if err != nil {
		return nil, err
	}
	if g != nil && now.Changes() {
		if err := g.beginRetire(ctx, now, states); err != nil {
			return nil, err
		}
	}
	r := &Result{Format: ResultFormat, Op: OpRetire, Nodes: make([]NodeResult, len(s.nodes))}
	onEach(s.nodes, func(i int, n *node) {
		r.Nodes[i] = NodeResult{Node: now.Nodes[i].Node, Warnings: now.Nodes[i].Warnings}
		if n.loadable() {
			n.Pin()
			defer n.Unpin()
			r.Nodes[i].Steps = []StepResult{n.retire(ctx, g.fence(n), states[i], now.Nodes[i], now)}
			n.barrier(ctx, &r.Nodes[i], ApplyOptions{})
		}
	})
	onEach(s.nodes, func(i int, n *node) {
		if !n.loadable() {
			n.retired(ctx, p.Library, now.Nodes[i], &r.Nodes[i])
		}
	})
	g.endRetire(ctx, now, r)
	if g != nil {
		r.Problem = g.release(ctx)
	}
	return r, r.Err()
}

// moved returns an error if a node holds something that the plan lacks. A library that was removed meanwhile does not matter.
func (r *Retirement) moved(now *Retirement) error {
	for _, n := range now.Nodes {
		i := slices.IndexFunc(r.Nodes, func(was NodeRetirement) bool { return was.Addr == n.Addr })
		if n.Action != RetireDelete || i >= 0 && r.Nodes[i].Digest == n.Digest {
			continue
		}
		return &Error{
			Op: "retire", Library: r.Library, Node: n.Addr, Reason: ErrChanged,
			Text: fmt.Sprintf("it holds %s (digest %.12s) now, which the plan has not seen; nothing was deleted; plan again", n.Version, n.Digest),
		}
	}
	return nil
}

// retired reads a replica after its primary is done.
func (n *node) retired(ctx context.Context, serverName string, p NodeRetirement, r *NodeResult) {
	step := StepResult{Library: serverName, From: p.Version, Outcome: Followed}
	if p.Action == RetireMissing {
		step.Outcome = AlreadyMissing
	}
	loaded, problem := n.look(ctx, "retire")
	switch {
	case problem != nil:
		step.Outcome = Unverified
		r.Warnings = append(r.Warnings, Warning{Code: "replica_unread", Text: "it is unknown whether this replica still has the library: " + problem.Text})
	case held(NodeState{Libraries: loaded}, serverName) != nil:
		step.Outcome, step.Found = Unverified, p.Version
		r.Warnings = append(r.Warnings, Warning{Code: "replica_behind", Text: "this replica still has the library: its primary has not deleted it, or not replicated that yet"})
	}
	r.Steps = []StepResult{step}
}

func (n *node) retire(ctx context.Context, l *lock.Lock, state NodeState, p NodeRetirement, all *Retirement) StepResult {
	r := StepResult{Library: all.Library, From: p.Version, Outcome: AlreadyMissing}
	if !p.changes() {
		return r
	}
	if ctx.Err() != nil {
		r.Outcome, r.Problem = NotStarted, interrupted(ctx, "retire", all.Library, n.Addr)
		return r
	}
	begun, cancel := conn.WithGrace(ctx)
	defer cancel()
	step := n.load(begun, l, all.tombstone, compare(all.tombstone, state.Libraries))
	switch {
	case step.Problem != nil:
		r.Outcome, r.Found, r.Problem = Failed, step.Found, step.Problem.at("retire", all.Library)
	case p.Action == RetireDelete:
		r.Outcome = Deleted
	}
	return r
}

// beginRetire records the libraries that the operation deletes, with their source.
func (g *operation) beginRetire(ctx context.Context, p *Retirement, states []NodeState) error {
	now, err := g.records.now(ctx)
	if err != nil {
		return err
	}
	g.event.At = now
	recorded, err := g.records.known(ctx)
	if err != nil {
		return err
	}
	for i, n := range p.Nodes {
		if !n.changes() {
			continue
		}
		g.changes = append(g.changes, nodeChange{n.Addr, EventChange{Library: p.Library, From: n.Version}})
		if found := held(states[i], p.Library); found != nil {
			if err := g.keepFound(ctx, recorded, *found, now); err != nil {
				return err
			}
		}
	}
	for i, c := range p.Clients {
		if i == keptForced {
			g.event.Forced = append(g.event.Forced, fmt.Sprintf("and %d more", len(p.Clients)-i))
			break
		}
		g.event.Forced = append(g.event.Forced, shorten(c.Instance, 60)+" ("+c.Version+")")
	}
	return g.records.event(ctx, g.event)
}

func (g *operation) endRetire(ctx context.Context, p *Retirement, r *Result) {
	if g == nil || g.event.At.IsZero() {
		return
	}
	g.atEnd(ctx, r, func(ctx context.Context, now time.Time) error {
		if r.Err() == nil {
			var digests []string
			for _, n := range p.Nodes {
				digests = append(digests, n.Digest)
			}
			if err := g.records.trim(ctx, p.Library, 1, digests); err != nil {
				return err
			}
		}
		return g.finish(ctx, r, now)
	})
}

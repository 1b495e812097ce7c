package loader

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// replicaTimeout bounds the wait for the replicas to receive a load.
const replicaTimeout = 5 * time.Second

// follow reads a replica until it holds what its primary holds, or the time for that is over.
func (n *node) follow(ctx context.Context, p *Plan, r, primary NodeSteps) NodeSteps {
	planned := r.Steps
	deadline := time.Now().Add(replicaTimeout)
	if n.problem != nil {
		deadline = time.Now() // it was unreachable a moment ago
	}
	for {
		loaded, problem := n.look(ctx)
		r.Steps, r.Warnings = slices.Clone(planned), nil
		behind := false
		for i, lib := range p.libs {
			r.Steps[i].follow(n.Node, p.Op, compare(lib, loaded), primary.Steps[i], problem)
			behind = behind || r.Steps[i].Problem != nil
		}
		if !behind || !time.Now().Before(deadline) {
			return r
		}
		select {
		case <-ctx.Done():
			return r
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// follow sets what came of a step on a replica, which holds what was found, or cannot be read.
func (s *Step) follow(at Node, op Op, found, primary Step, problem *Error) {
	s.Found, s.Outcome, s.Problem = found.From, Skipped, nil
	switch {
	case problem == nil && (found.State == Same || op == OpRetire && found.State == Missing):
		if s.Action == Follow {
			s.Outcome = Done
		}
		return
	case primary.Problem != nil, problem == nil && primary.Outcome == Skipped && found.From == primary.Found:
		return
	}
	text := "this replica of " + at.Follows + " holds " + describe(found) + ", and its primary holds " + cmp.Or(primary.Found, "none") + "; see INFO replication on both"
	if problem != nil {
		text = "this replica of " + at.Follows + " cannot be read, so nobody knows what it holds: " + problem.Text
	}
	s.Outcome, s.Problem = Failed, &Error{Op: "verify", Library: s.Library, Node: at.Addr, Reason: ErrReplication, Text: text + "; give --no-replicas to ignore it"}
}

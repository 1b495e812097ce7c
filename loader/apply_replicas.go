package loader

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// unseen returns the warning about a replica that could not be read. It does not block a deploy.
func unseen(state NodeState) Warning {
	return Warning{
		Code: "replica_unread",
		Text: "this replica of " + state.Follows + " cannot be read: " + state.Problem.Text,
	}
}

// followFor returns the step of a replica, where nothing is loaded.
func followFor(state NodeState, lib *fcall.Library, op Op) Step {
	step := Step{Library: lib.ServerName, Action: Follow, To: lib.Version}
	if !state.Readable {
		return step
	}
	found := compare(lib, state.Libraries)
	step.From, step.FromDigest = found.Found, found.Digest
	switch found.State {
	case Same:
		step.Action = Keep
	case Newer:
		if op != OpRollback {
			step.Action = KeepNewer
		}
	}
	return step
}

const defaultReplicaTimeout = 5 * time.Second

func (o ApplyOptions) replicaTimeout() time.Duration {
	if o.ReplicaTimeout > 0 {
		return o.ReplicaTimeout
	}
	return defaultReplicaTimeout
}

// barrier waits until the primary's replicas have confirmed the load.
func (n *node) barrier(ctx context.Context, r *NodeResult, o ApplyOptions) {
	if !n.Pinned() || n.answer == nil || len(n.answer.replicas) == 0 || !r.changed() {
		return
	}
	want := len(n.answer.replicas)
	got, err := n.Wait(ctx, want, o.replicaTimeout())
	switch {
	case err != nil:
		r.Warnings = append(r.Warnings, Warning{
			Code: "wait", Text: "replication is not confirmed: " + classify("", "", "", false, err).Text,
		})
	case int(got) < want:
		r.Warnings = append(r.Warnings, Warning{
			Code: "wait", Text: fmt.Sprintf("%d of %d replicas confirmed the load within %s; a failover to another replica would lose it", got, want, o.replicaTimeout()),
		})
	}
}

func (r *NodeResult) changed() bool {
	for _, s := range r.Steps {
		if s.Outcome.changed() {
			return true
		}
	}
	return false
}

// follow reads the replicas after their primaries are done, and passes each result to done.
func (s *session) follow(ctx context.Context, libs []*fcall.Library, states []NodeState, r *Result, o ApplyOptions, done func(int, NodeResult)) {
	primaries := map[string]NodeResult{}
	for i, n := range s.nodes {
		if n.loadable() {
			primaries[n.Addr] = r.Nodes[i]
		}
	}
	onEach(s.nodes, func(i int, n *node) {
		if !n.loadable() {
			done(i, n.follow(ctx, libs, states[i], primaries[n.Follows], o))
		}
	})
}

const replicaInterval = 20 * time.Millisecond

func (n *node) follow(ctx context.Context, libs []*fcall.Library, before NodeState, primary NodeResult, o ApplyOptions) NodeResult {
	r := NodeResult{Node: before.Node}
	deadline := time.Now().Add(o.replicaTimeout())
	if before.Problem != nil && before.Problem.Reason == ErrUnreachable {
		deadline = time.Now() // it was unreachable a moment ago
	}
	for {
		loaded, problem := n.look(ctx, "verify")
		r.Steps, r.Warnings = nil, nil
		if problem != nil {
			r.Warnings = []Warning{unseen(NodeState{Node: n.Node, Problem: problem})}
		}
		behind := problem != nil
		for i, lib := range libs {
			was := compare(lib, before.Libraries)
			step := StepResult{Library: lib.ServerName, Outcome: Unverified, From: was.Found}
			if problem == nil {
				step = n.followed(lib, was, compare(lib, loaded), primary, i)
			}
			behind = behind || step.Problem != nil
			r.Steps = append(r.Steps, step)
		}
		if !behind || !time.Now().Before(deadline) {
			return r
		}
		select {
		case <-ctx.Done():
			return r
		case <-time.After(replicaInterval):
		}
	}
}

// followed returns the step of one library on a replica. i is its index in the primary's steps.
func (n *node) followed(lib *fcall.Library, was, is Finding, primary NodeResult, i int) StepResult {
	r := StepResult{Library: lib.ServerName, From: was.Found, Found: is.Found}
	switch {
	case is.State == Same && was.State == Same:
		r.Outcome = Already
	case is.State == Same:
		r.Outcome = Followed
	case i >= len(primary.Steps) || primary.Steps[i].Problem != nil:
		r.Outcome = NotStarted
	case primary.Steps[i].Outcome == KeptNewer && is.Found == primary.Steps[i].Found:
		r.Outcome = KeptNewer
	default:
		r.Outcome = Failed
		r.Problem = &Error{
			Op: "verify", Library: lib.ServerName, Node: n.Addr, Reason: ErrReplication,
			Text: "its primary " + n.Follows + " holds " + primary.Steps[i].Found + ", and this replica holds " + describe(is) + "; see INFO replication on both",
		}
	}
	return r
}

package loader

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// unseen is why a replica could not be read, as a warning: it does not stand in the way of a deploy.
func unseen(state NodeState) Warning {
	return Warning{
		Code: "replica_unread",
		Text: "this replica of " + state.Follows + " can not be looked at: " + state.Problem.Text,
	}
}

// followFor is the step of a replica: whatever it holds, nothing is loaded there.
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

// pin keeps one connection for the node, until it breaks: WAIT waits for what was written on its own connection.
func (n *node) pin() {
	if n.client != nil {
		n.pinned = n.client.EphemeralConn()
	}
}

func (n *node) unpin() {
	if n.pinned != nil {
		go n.pinned.Close() // which waits for an abandoned command
		n.pinned = nil
	}
}

const defaultReplicaTimeout = 5 * time.Second

func (o ApplyOptions) replicaTimeout() time.Duration {
	if o.ReplicaTimeout > 0 {
		return o.ReplicaTimeout
	}
	return defaultReplicaTimeout
}

// barrier waits until the primary's replicas have what was loaded.
func (n *node) barrier(ctx context.Context, r *NodeResult, o ApplyOptions) {
	if n.pinned == nil || n.answer == nil || len(n.answer.replicas) == 0 || !r.changed() {
		return
	}
	want := len(n.answer.replicas)
	conn, got := n.pinned, int64(0)
	err := within(ctx, func() (err error) {
		got, err = conn.Wait(ctx, want, o.replicaTimeout()).Result()
		return err
	})
	switch {
	case err != nil:
		r.Warnings = append(r.Warnings, Warning{
			Code: "wait", Text: "it can not be told whether the replicas have it: " + judge("", "", "", false, err).Text,
		})
	case int(got) < want:
		r.Warnings = append(r.Warnings, Warning{
			Code: "wait", Text: fmt.Sprintf("%d of %d replicas have confirmed it within %s; a failover to another one would lose it", got, want, o.replicaTimeout()),
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

// follow reads the replicas back, when their primaries are done, and gives each to done.
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
		deadline = time.Now() // it was not there a moment ago
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

// followed is what has become of one library on a replica, whose primary has come to the i-th of its steps.
func (n *node) followed(lib *fcall.Library, was, is Finding, primary NodeResult, i int) StepResult {
	r := StepResult{Library: lib.ServerName, From: was.Found, Found: is.Found}
	switch {
	case is.State == Same && was.State == Same:
		r.Outcome = Already
	case is.State == Same:
		r.Outcome = Followed
	case i >= len(primary.Steps) || primary.Steps[i].Problem != nil:
		r.Outcome = NotStarted
	case primary.Steps[i].Outcome == LeftNewer && is.Found == primary.Steps[i].Found:
		r.Outcome = LeftNewer
	default:
		r.Outcome = Failed
		r.Problem = &Error{
			Op: "verify", Library: lib.ServerName, Node: n.Addr, Reason: ErrReplication,
			Text: "its primary " + n.Follows + " holds " + primary.Steps[i].Found + ", and this replica holds " + describe(is) + "; see INFO replication on both",
		}
	}
	return r
}

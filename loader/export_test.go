package loader

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// SetLockTimes makes locks shorter for a test.
func SetLockTimes(t *testing.T, ttl, renew time.Duration) {
	oldTTL, oldRenew := lockTTL, renewEvery
	lockTTL, renewEvery = ttl, renew
	t.Cleanup(func() { lockTTL, renewEvery = oldTTL, oldRenew })
}

// LockKey returns the key of the lock on a node whose CLUSTER NODES has this text.
var LockKey = clusterFenceKey

// EventText returns the history's text of an event with these changes, each on another node.
func EventText(e Event, changes []EventChange) ([]byte, error) {
	for i := range changes {
		changes[i].Nodes = []string{fmt.Sprintf("%0200d:6379", i)}
	}
	e.Changes = grouped(changes)
	return e.text()
}

// Nodes lists the target's nodes, without a question to nodes that others know.
func (t *Target) Nodes(ctx context.Context) ([]Node, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	nodes := make([]Node, len(s.nodes))
	for i, n := range s.nodes {
		nodes[i] = n.Node
	}
	return nodes, nil
}

package engines

import (
	"net"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// A Move takes slots from one primary of a cluster to another one, as operators' tools do: SETSLOT on both sides, MIGRATE of each
// key, and SETSLOT again.
type Move struct {
	t              testing.TB
	source, target *redis.Client
	fromID, toID   string
}

// NewMove returns a move, of nothing yet.
func NewMove(t testing.TB, from, to *Member) *Move {
	t.Helper()
	return &Move{t: t, source: from.Client(t), target: to.Client(t), fromID: from.ClusterID(t), toID: to.ClusterID(t)}
}

// All moves the slots in which the primary has keys, and says how many those are.
func (m *Move) All() int {
	m.t.Helper()
	shards, err := m.source.ClusterShards(m.t.Context()).Result()
	if err != nil {
		m.t.Fatalf("engines: %v", err)
	}
	moved := 0
	for _, s := range shards {
		if !slices.ContainsFunc(s.Nodes, func(n redis.Node) bool { return n.ID == m.fromID }) {
			continue
		}
		for _, r := range s.Slots {
			for slot := int(r.Start); slot <= int(r.End); slot++ {
				if m.source.ClusterCountKeysInSlot(m.t.Context(), slot).Val() > 0 {
					m.Slot(slot, nil)
					moved++
				}
			}
		}
	}
	return moved
}

// Slot moves one. Meanwhile, unless nil, is called when the slot is on the move and no key has gone yet.
func (m *Move) Slot(slot int, meanwhile func()) {
	m.t.Helper()
	m.run(m.target, "CLUSTER", "SETSLOT", slot, "IMPORTING", m.fromID)
	m.run(m.source, "CLUSTER", "SETSLOT", slot, "MIGRATING", m.toID)
	if meanwhile != nil {
		meanwhile()
	}
	host, port, _ := net.SplitHostPort(m.target.Options().Addr)
	for {
		keys, err := m.source.ClusterGetKeysInSlot(m.t.Context(), slot, 1).Result()
		if err != nil {
			m.t.Fatalf("engines: keys of slot %d: %v", slot, err)
		}
		if len(keys) == 0 {
			break
		}
		m.run(m.source, "MIGRATE", host, port, keys[0], 0, 5000)
	}
	m.run(m.target, "CLUSTER", "SETSLOT", slot, "NODE", m.toID)
	m.run(m.source, "CLUSTER", "SETSLOT", slot, "NODE", m.toID)
}

func (m *Move) run(c *redis.Client, args ...any) {
	m.t.Helper()
	if err := c.Do(m.t.Context(), args...).Err(); err != nil {
		m.t.Fatalf("engines: %v on %s: %v", args, c.Options().Addr, err)
	}
}

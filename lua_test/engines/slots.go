package engines

import (
	"net"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
)

// MoveSlots moves the slots in which a primary has keys to another one, each key by itself, and says how many those are. It works
// as operators' tools do: SETSLOT on both sides, MIGRATE, and SETSLOT again.
func (c *Cluster) MoveSlots(t testing.TB, from, to *Member) int {
	t.Helper()
	source, target := from.Client(t), to.Client(t)
	fromID, toID := from.ClusterID(t), to.ClusterID(t)
	host, port, _ := net.SplitHostPort(to.Addr)
	run := func(c *redis.Client, args ...any) {
		t.Helper()
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("engines: %v on %s: %v", args, c.Options().Addr, err)
		}
	}
	ranges, err := source.ClusterSlots(t.Context()).Result()
	if err != nil {
		t.Fatalf("engines: %v", err)
	}
	moved := 0
	for _, s := range ranges {
		if !slices.ContainsFunc(s.Nodes[:1], func(n redis.ClusterNode) bool { return n.ID == fromID }) {
			continue
		}
		for slot := s.Start; slot <= s.End; slot++ {
			if source.ClusterCountKeysInSlot(t.Context(), slot).Val() == 0 {
				continue
			}
			moved++
			run(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
			run(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
			for {
				keys, err := source.ClusterGetKeysInSlot(t.Context(), slot, 1).Result()
				if err != nil {
					t.Fatalf("engines: keys of slot %d: %v", slot, err)
				}
				if len(keys) == 0 {
					break
				}
				run(source, "MIGRATE", host, port, keys[0], 0, 5000)
			}
			run(target, "CLUSTER", "SETSLOT", slot, "NODE", toID)
			run(source, "CLUSTER", "SETSLOT", slot, "NODE", toID)
		}
	}
	return moved
}

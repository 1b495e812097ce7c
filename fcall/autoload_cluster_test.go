package fcall_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// startPair runs a cluster of two primaries. The first has every slot and the library, the second has neither.
func startPair(t *testing.T) (first, second *redis.Client) {
	t.Helper()
	program := engines.OnPath(t)
	cluster := program.StartCluster(t, 1, 0)
	loadCount(t, cluster.Primaries[0].Addr)
	return admin(t, cluster.Primaries[0].Addr), admin(t, cluster.Join(t, program).Addr)
}

func do(t *testing.T, c *redis.Client, args ...any) string {
	t.Helper()
	reply, err := c.Do(t.Context(), args...).Text()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return reply
}

// If a slot moves to a node without the library, redirections lead calls there: ASK while it moves, MOVED afterwards.
func TestAutoLoad_afterSlotMigration(t *testing.T) {
	t.Parallel()
	first, second := startPair(t)
	ids := [2]string{do(t, first, "CLUSTER", "MYID"), do(t, second, "CLUSTER", "MYID")}
	openers := map[string]func(t *testing.T, c *redis.ClusterClient) fcall.Caller{
		"cluster": func(_ *testing.T, c *redis.ClusterClient) fcall.Caller { return c },
		"queues":  func(t *testing.T, c *redis.ClusterClient) fcall.Caller { return laned(t, c) },
	}
	for name, open := range openers {
		for _, moved := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/moved=%v", name, moved), func(t *testing.T) {
				forget(t, second.Options().Addr)
				key := t.Name()
				c := redis.NewClusterClient(&redis.ClusterOptions{
					Addrs: []string{first.Options().Addr}, ReadTimeout: readTimeout, ClusterStateReloadInterval: time.Hour,
				})
				defer c.Close()
				client := newClient(t, open(t, c), fcall.Options{})
				if _, err := hit(client, "other:{x}"); err != nil { // the client learns who has which slot
					t.Fatal(err)
				}
				slot := first.ClusterKeySlot(t.Context(), key).Val()
				do(t, second, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0])
				do(t, first, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1])
				if moved {
					do(t, second, "CLUSTER", "SETSLOT", slot, "NODE", ids[1])
					do(t, first, "CLUSTER", "SETSLOT", slot, "NODE", ids[1])
				}
				n, err := hit(client, key)
				if n != 1 || err != nil {
					t.Errorf("%d, %v, want 1", n, err)
				}
				if got := loads(t, second.Options().Addr); got != 1 {
					t.Errorf("the new node took %d loads, want 1", got)
				}
				if stats := client.Stats(); stats != (fcall.Stats{NotLoaded: 1, Loads: 1}) {
					t.Errorf("stats are %+v", stats)
				}
			})
		}
	}
}

// Each node without the library gets one load, for any number of keys.
func TestAutoLoad_loadsEachNodeOnce(t *testing.T) {
	t.Parallel()
	first, second := startPair(t)
	ctx := context.Background()
	newOwner := do(t, second, "CLUSTER", "MYID")
	for i := range 32 {
		slot := first.ClusterKeySlot(ctx, fmt.Sprintf("k:{%d}", i)).Val()
		do(t, second, "CLUSTER", "SETSLOT", slot, "NODE", newOwner)
		do(t, first, "CLUSTER", "SETSLOT", slot, "NODE", newOwner)
	}
	forget(t, first.Options().Addr)
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{first.Options().Addr}})
	defer c.Close()
	client := newClient(t, c, fcall.Options{})
	errs := make(chan error)
	for i := range 64 {
		go func() {
			_, err := hit(client, fmt.Sprintf("k:{%d}", i))
			errs <- err
		}()
	}
	for range 64 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, node := range []*redis.Client{first, second} {
		if got := loads(t, node.Options().Addr); got != 1 {
			t.Errorf("%s took %d loads, want 1", node.Options().Addr, got)
		}
	}
}

package guard_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// An address that claims another device with each request makes no more keys than its own limit admits, and one for itself: a request that is
// refused writes nothing. docs/security.md#attacks has the bytes of a run.
func TestDecide_anAddressMakesOnlyAsManyKeysAsItsLimitAdmits(t *testing.T) {
	const admits, requests, addresses = 60, 100, 100
	for _, kind := range []policy.Kind{policy.GCRA, policy.SlidingLog, policy.SlidingCounter, policy.FixedWindow} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			rdb := redis.NewClient(&redis.Options{Addr: engines.OnPath(t).Start(t).Addr})
			defer rdb.Close()
			p := chat(
				policy.Limit{Name: "address", By: policy.By{policy.ByIP}, Kind: kind, Limit: admits, Window: time.Hour},
				policy.Limit{Name: "device", By: policy.By{"device"}, Kind: kind, Limit: 10, Window: time.Hour},
			)
			p.Identities = map[string]policy.Identity{"device": {Header: "X-Device", Claimed: true}}
			g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
			load(t, rdb)
			if err := rdb.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			before := used(t, rdb)
			for a := range addresses {
				for i := range requests {
					decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{fmt.Sprintf("ip=203.0.113.%d", a), fmt.Sprintf("device=%d-%d", a, i)}})
				}
			}
			keys, err := rdb.DBSize(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			if keys != addresses*(admits+1) {
				t.Errorf("%d keys of %d addresses, want %d of each", keys, addresses, admits+1)
			}
			t.Logf("%d bytes a key", (used(t, rdb)-before)/keys)
		})
	}
}

// used is the memory that a server uses for its data.
func used(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	info, err := rdb.Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	line, _, _ := strings.Cut(rest, "\r")
	n, err := strconv.ParseInt(line, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

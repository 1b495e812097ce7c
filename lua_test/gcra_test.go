package luatest_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	gcraParams = ratelimit.GCRAParams
	gcraResult = ratelimit.GCRAResult
)

func gcra(p gcraParams) func(context.Context, *ratelimit.Client) (any, error) {
	return luatest.Call((*ratelimit.Client).GCRA, p)
}

func cost(n int64) *int64 { return &n }

func TestGCRA_admitsTheBurstThenOneAnInterval(t *testing.T) {
	take := gcra(gcraParams{Bucket: "u1", Limit: 3, Period: 6 * time.Second})
	ttl := func(d time.Duration) map[string]time.Duration {
		return map[string]time.Duration{key("u1", "gcra"): d}
	}
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 2 * time.Second}, TTLs: ttl(2 * time.Second)},
		step{Call: take, Writes: true, Want: gcraResult{Allowed: true, Remaining: 1, ResetAfter: 4 * time.Second}},
		step{Name: "exactly the limit", Call: take, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 6 * time.Second}, TTLs: ttl(6 * time.Second)},
		step{Name: "one more", Call: take, Want: gcraResult{RetryAfter: 2 * time.Second, ResetAfter: 6 * time.Second}},
		step{Name: "one tick sooner", Advance: 2*time.Second - time.Millisecond, Call: take, Want: gcraResult{RetryAfter: time.Millisecond, ResetAfter: 4*time.Second + time.Millisecond}},
		step{Name: "at retry_after", Advance: time.Millisecond, Call: take, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: 6 * time.Second}},
		step{Name: "long idle", Advance: 240 * time.Hour, Call: take, Writes: true, Want: gcraResult{Allowed: true, Remaining: 2, ResetAfter: 2 * time.Second}, TTLs: ttl(2 * time.Second)},
	)
}

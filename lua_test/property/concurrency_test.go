package property_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type concurrencyCall = call[*concurrency.Client, *model.Concurrency]

var concurrencyFamily = family[*concurrency.Client, *model.Concurrency]{
	name:      "concurrency",
	suite:     suites.Semaphores,
	model:     model.NewConcurrency,
	keys:      []storedKey{{"holders", "zset"}, {"fences", "hash"}},
	draw:      drawConcurrency,
	invariant: concurrencyInvariant,
}

func drawConcurrency(t *rapid.T) plan[*concurrency.Client, *model.Concurrency] {
	spans := []time.Duration{time.Millisecond, 1500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute, time.Hour, 24 * time.Hour}
	lease := rapid.SampledFrom(spans)
	limit := rapid.SampledFrom([]int64{1, 1, 2, 3, 3, 5, 20, 1000})
	weights := rapid.SampledFrom([][]int64{{0}, {0}, {0, 1, 2, 3}, {1, 5, 7, 1000}}).Draw(t, "weights")
	names := []string{"a", "b", "c", "d", "e", "f", "g", "h", "extra"}
	holder := rapid.SampledFrom(names)
	fence := rapid.SampledFrom([]int64{0, 0, 0, luatest.Start.UnixMicro(), luatest.Start.UnixMicro() + 1, luatest.Start.UnixMicro() + 2, 1, fcall.MaxInt})
	return plan[*concurrency.Client, *model.Concurrency]{spans: spans, call: func(t *rapid.T) concurrencyCall {
		subject := fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))
		switch rapid.IntRange(0, 10).Draw(t, "function") {
		default:
			p := concurrency.AcquireParams{
				Subject: subject, Holder: holder.Draw(t, "holder"), Limit: limit.Draw(t, "limit"), Lease: lease.Draw(t, "lease"),
				Weight: rapid.SampledFrom(weights).Draw(t, "weight"),
			}
			return judged("acquire", subject, p, (*concurrency.Client).QueueAcquire, (*model.Concurrency).Acquire, time.Microsecond, func(r concurrency.AcquireResult) (bool, time.Duration) {
				return !r.Allowed, r.RetryAfter
			})
		case 7, 8:
			p := concurrency.RenewParams{Subject: subject, Holder: holder.Draw(t, "holder"), Lease: lease.Draw(t, "lease"), Fence: fence.Draw(t, "fence")}
			return made("renew", subject, p, (*concurrency.Client).QueueRenew, (*model.Concurrency).Renew)
		case 9:
			p := concurrency.ReleaseParams{Subject: subject, Holder: holder.Draw(t, "holder"), Fence: fence.Draw(t, "fence")}
			return made("release", subject, p, (*concurrency.Client).QueueRelease, (*model.Concurrency).Release)
		case 10:
			return made("peek", subject, concurrency.PeekParams{Subject: subject}, (*concurrency.Client).QueuePeek, (*model.Concurrency).Peek)
		}
	}}
}

// concurrencyInvariant holds that a subject's fences grow, unless the clock was set back by more than an hour.
func concurrencyInvariant() func(time.Time, string, any, any) string {
	last, latest := map[string]int64{}, time.Time{}
	return func(now time.Time, subject string, _, reply any) string {
		if now.After(latest) {
			latest = now
		}
		r, ok := reply.(concurrency.AcquireResult)
		if !ok || !r.Allowed || r.Held {
			return ""
		}
		before := last[subject]
		last[subject] = r.Fence
		if r.Fence <= before && latest.Sub(now) <= time.Hour {
			return fmt.Sprintf("fence %d follows %d", r.Fence, before)
		}
		return ""
	}
}

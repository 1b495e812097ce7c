package wire_test

import (
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// quotaParams are a legal call in days that contain the tests' time.
func quotaParams(bucket fcall.Subject) ratelimit.QuotaParams {
	start := luatest.Start.Truncate(day)
	return ratelimit.QuotaParams{
		Subject: bucket, Limit: 1_000_000, Previous: start.Add(-day), Start: start, Next: start.Add(day), After: start.Add(2 * day), Cost: cost(2),
	}
}

func quotaAtMost(p ratelimit.QuotaParams, most int64) ratelimit.QuotaAtMostParams {
	return ratelimit.QuotaAtMostParams{Subject: p.Subject, Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Most: most}
}

func quotaRefund(p ratelimit.QuotaParams, cost int64) ratelimit.QuotaRefundParams {
	return ratelimit.QuotaRefundParams{Subject: p.Subject, Limit: p.Limit, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Cost: cost}
}

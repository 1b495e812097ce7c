package main

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// quotaParams are a call in a period that lasts for as long as the benchmark may run.
func quotaParams(s fcall.Subject) ratelimit.QuotaParams {
	year := func(n int) time.Time { return time.Date(n, 1, 1, 0, 0, 0, 0, time.UTC) }
	return ratelimit.QuotaParams{Subject: s, Limit: 100, Previous: year(2024), Start: year(2025), Next: year(2032), After: year(2033)}
}

func quota(cost int64) command {
	return of(ratelimit.New, (*ratelimit.Client).Quota, func(s fcall.Subject) ratelimit.QuotaParams {
		p := quotaParams(s)
		if cost != 1 {
			p.Cost = &cost
		}
		return p
	})
}

func quotaWorkloads() []workload {
	atMost := of(ratelimit.New, (*ratelimit.Client).QuotaAtMost, func(s fcall.Subject) ratelimit.QuotaAtMostParams {
		p := quotaParams(s)
		return ratelimit.QuotaAtMostParams{Subject: s, Limit: 100, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Most: 10}
	})
	peek := of(ratelimit.New, (*ratelimit.Client).QuotaPeek, func(s fcall.Subject) ratelimit.QuotaPeekParams { return ratelimit.QuotaPeekParams(quotaParams(s)) })
	refund := of(ratelimit.New, (*ratelimit.Client).QuotaRefund, func(s fcall.Subject) ratelimit.QuotaRefundParams {
		p := quotaParams(s)
		return ratelimit.QuotaRefundParams{Subject: s, Limit: 100, Previous: p.Previous, Start: p.Start, Next: p.Next, After: p.After, Cost: 1}
	})
	reset := of(ratelimit.New, (*ratelimit.Client).QuotaReset, func(s fcall.Subject) ratelimit.QuotaResetParams {
		return ratelimit.QuotaResetParams{Subject: s}
	})
	return []workload{
		{name: "quota allowed", prepare: after(quota(1)), call: quota(1), expect: nextOf100},
		{name: "quota allowed, first use", call: quota(1), expect: firstOf100},
		{name: "quota refused", prepare: after(quota(100)), call: quota(1), expect: refused},
		{name: "quota_at_most 10 of 100", prepare: after(quota(1)), call: atMost, expect: "{Allowed:true Taken:10 "},
		{name: "quota_peek", prepare: after(quota(1)), call: peek, expect: allowed},
		{name: "quota_refund", prepare: after(quota(1), quota(1)), call: refund, expect: "{Refunded:1 Remaining:99 "},
		{name: "quota_reset", prepare: after(quota(1)), call: reset, expect: existed},
	}
}

package main

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

const (
	gcraGoal         = 7 // where the emission interval is whole milliseconds
	gcraFractionGoal = 10
	gcraShareGoal    = 0.7 // of what redis_rate costs
)

// spent is what half-full buckets of 100 an hour took before the call, and atHalf how the reply begins while 40 to 49 are
// left, six minutes long: so no bucket is full, which is another path.
const (
	spent  = 59
	atHalf = "{Allowed:true Remaining:4"
)

// gcra takes cost where it is not 0, else the default of 1.
func gcra(p ratelimit.GCRAParams, cost int64) command {
	return of(ratelimit.New, (*ratelimit.Client).GCRA, func(s fcall.Subject) ratelimit.GCRAParams {
		p.Subject = s
		if cost > 0 {
			p.Cost = &cost
		}
		return p
	})
}

func gcraWorkloads() []workload {
	var (
		hundred = ratelimit.GCRAParams{Limit: 100, Period: time.Hour}
		micros  = ratelimit.GCRAParams{Limit: 128, Period: time.Minute} // an interval of 468,750 microseconds
		seven   = ratelimit.GCRAParams{Limit: 7, Period: time.Minute, Burst: 100}
	)
	peek := of(ratelimit.New, (*ratelimit.Client).GCRAPeek, func(s fcall.Subject) ratelimit.GCRAPeekParams {
		return ratelimit.GCRAPeekParams{Subject: s, Limit: 100, Period: time.Hour}
	})
	refund := of(ratelimit.New, (*ratelimit.Client).GCRARefund, func(s fcall.Subject) ratelimit.GCRARefundParams {
		return ratelimit.GCRARefundParams{Subject: s, Limit: 100, Period: time.Hour, Cost: 1}
	})
	reset := of(ratelimit.New, (*ratelimit.Client).GCRAReset, func(s fcall.Subject) ratelimit.GCRAResetParams {
		return ratelimit.GCRAResetParams{Subject: s}
	})
	atMost := of(ratelimit.New, (*ratelimit.Client).GCRAAtMost, func(s fcall.Subject) ratelimit.GCRAAtMostParams {
		return ratelimit.GCRAAtMostParams{Subject: s, Limit: 100, Period: time.Hour, Most: 10}
	})
	used := after(gcra(hundred, spent))
	return []workload{
		{name: "gcra 100/h allowed", rival: redisRate, prepare: used, call: gcra(hundred, 0), expect: atHalf, most: gcraGoal, share: gcraShareGoal},
		{name: "gcra 100/h allowed, first use", rival: redisRateFirst, call: gcra(hundred, 0), expect: firstOf100, most: gcraGoal, share: gcraShareGoal},
		{name: "gcra 100/h refused", rival: redisRateRefused, prepare: after(gcra(hundred, 100)), call: gcra(hundred, 10), expect: refused, most: gcraGoal, share: gcraShareGoal},
		{name: "gcra 128/min allowed (whole us)", rival: redisRate, prepare: after(gcra(micros, spent)), call: gcra(micros, 0), expect: allowed, most: gcraFractionGoal},
		{name: "gcra 7/min allowed (fractions)", rival: redisRate, prepare: after(gcra(seven, spent)), call: gcra(seven, 0), expect: allowed, most: gcraFractionGoal},
		{name: "gcra_at_most 10 of 100/h, all there", prepare: used, call: atMost, expect: "{Allowed:true Taken:10 "},
		{name: "gcra_at_most 10 of 100/h, 5 there", prepare: after(gcra(hundred, 95)), call: atMost, expect: "{Allowed:true Taken:5 "},
		{name: "gcra_peek 100/h", prepare: used, call: peek, expect: allowed},
		{name: "gcra_refund 100/h", prepare: used, call: refund, expect: "{Refunded:true "},
		{name: "gcra_reset", prepare: used, call: reset, expect: existed},
	}
}

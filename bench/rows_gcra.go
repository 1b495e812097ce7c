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
		million = ratelimit.GCRAParams{Limit: 2_000_000, Period: time.Minute}
		seven   = ratelimit.GCRAParams{Limit: 7, Period: time.Minute, Burst: 100}
	)
	used := after(gcra(hundred, spent))
	return []workload{
		{name: "gcra 100/h allowed", rival: redisRate, prepare: used, call: gcra(hundred, 0), expect: atHalf, most: gcraGoal, share: gcraShareGoal},
		{name: "gcra 100/h allowed, first use", rival: redisRateFirst, call: gcra(hundred, 0), expect: firstOf100, most: gcraGoal, share: gcraShareGoal},
		{name: "gcra 100/h refused", rival: redisRateRefused, prepare: after(gcra(hundred, 100)), call: gcra(hundred, 10), expect: refused, most: gcraGoal, share: gcraShareGoal},
		{name: "gcra 128/min allowed (whole us)", rival: redisRate, prepare: after(gcra(micros, spent)), call: gcra(micros, 0), expect: allowed, most: gcraFractionGoal},
		{name: "gcra 2000000/min allowed", rival: redisRate, prepare: after(gcra(million, 1_990_000)), call: gcra(million, 5000), expect: allowed, most: gcraFractionGoal},
		{name: "gcra 7/min allowed (fractions)", rival: redisRate, prepare: after(gcra(seven, spent)), call: gcra(seven, 0), expect: allowed, most: gcraFractionGoal},
	}
}

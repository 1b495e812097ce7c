package main

import (
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

const (
	slidingLogGoal = 12
	growthGoal     = 1.5 // of what it costs with one entry
)

// Rows that others are compared with.
const (
	slidingLogFirst   = "sliding_log allowed, first use"
	slidingLogOne     = "sliding_log allowed, 1 in window"
	slidingLogHundred = "sliding_log allowed, 100 in window"
	slidingLogFull    = "sliding_log refused, 100 in window"
	slidingLogNew     = "sliding_log allowed, new receipt"
)

const admitted = "{Allowed:true Duplicate:false "

// A receipt, and another one of the same length.
const (
	receipt      = "fp:5f0c7a1e:2f9be61dd1c84f0aa3a7"
	otherReceipt = "fp:5f0c7a1e:00000000000000000000"
)

func slidingLog(p ratelimit.SlidingLogParams) command {
	return of(ratelimit.New, (*ratelimit.Client).SlidingLog, func(s fcall.Subject) ratelimit.SlidingLogParams {
		p.Subject = s
		return p
	})
}

// logged prepares a log of n admissions in the last tenth of the window, so that none leaves it while a row is measured,
// and, before them, of as many that have left it.
func logged(limit, n, expired int, window time.Duration) func(fcall.Subject, time.Time) [][]any {
	return func(s fcall.Subject, now time.Time) [][]any {
		return logIn(fcall.Key(ratelimit.Library.Name, s, "log"), limit, n, expired, window, now)
	}
}

func logIn(key string, limit, n, expired int, window time.Duration, now time.Time) [][]any {
	push := []any{"RPUSH", key, fmt.Sprintf("%d %d", window.Microseconds(), limit)}
	for e := range expired {
		push = append(push, now.Add(-window-time.Hour).UnixMicro()+int64(e))
	}
	step := window / 10 / time.Duration(max(n, 1))
	for e := range n {
		push = append(push, now.Add(-window/10+time.Duration(e)*step).UnixMicro())
	}
	return [][]any{push, {"PEXPIRE", key, window.Milliseconds()}}
}

func logWorkloads() []workload {
	const window = time.Hour
	wide := slidingLog(ratelimit.SlidingLogParams{Limit: 20_000, Window: window})
	hundred := slidingLog(ratelimit.SlidingLogParams{Limit: 100, Window: window})
	withReceipt := slidingLog(ratelimit.SlidingLogParams{Limit: 20_000, Window: window, Receipt: receipt})
	withOther := slidingLog(ratelimit.SlidingLogParams{Limit: 20_000, Window: window, Receipt: otherReceipt})
	return []workload{
		{name: slidingLogFirst, call: wide, expect: admitted, most: slidingLogGoal},
		{name: slidingLogOne, prepare: logged(20_000, 1, 0, window), call: wide, expect: admitted, most: slidingLogGoal},
		{name: slidingLogHundred, rival: slidingLogOne, prepare: logged(20_000, 100, 0, window), call: wide, expect: admitted, most: slidingLogGoal, share: growthGoal},
		{name: "sliding_log allowed, 1,000 in window", rival: slidingLogOne, subjects: 1000, prepare: logged(20_000, 1000, 0, window), call: wide, expect: admitted, most: slidingLogGoal, share: growthGoal},
		{name: "sliding_log allowed, 10,000 in window", rival: slidingLogOne, subjects: 1000, prepare: logged(20_000, 10_000, 0, window), call: wide, expect: admitted, most: slidingLogGoal, share: growthGoal},
		{name: "sliding_log sliding, 1 of 100 expires", prepare: logged(100, 99, 1, window), call: hundred, expect: admitted, most: slidingLogGoal},
		{name: slidingLogFull, prepare: logged(100, 100, 0, window), call: hundred, expect: refused, most: slidingLogGoal},
		{name: slidingLogNew, prepare: after(withOther), call: withReceipt, expect: admitted},
	}
}

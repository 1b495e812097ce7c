package main

import (
	"math"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// How answers begin.
const (
	existed    = "{Existed:true"
	allowed    = "{Allowed:true"
	refused    = "{Allowed:false"
	firstOf100 = "{Allowed:true Remaining:99 "
	nextOf100  = "{Allowed:true Remaining:98 "
)

const (
	fixedWindowGoal    = 4.5
	slidingCounterGoal = 8
)

func fixedWindow(limit, cost int64) command {
	return of(ratelimit.New, (*ratelimit.Client).FixedWindow, func(s fcall.Subject) ratelimit.FixedWindowParams {
		p := ratelimit.FixedWindowParams{Subject: s, Limit: limit, Window: time.Hour}
		if cost != 1 {
			p.Cost = &cost
		}
		return p
	})
}

func slidingCounter(limit, cost int64) command {
	return of(ratelimit.New, (*ratelimit.Client).SlidingCounter, func(s fcall.Subject) ratelimit.SlidingCounterParams {
		p := ratelimit.SlidingCounterParams{Subject: s, Limit: limit, Window: time.Hour}
		if cost != 1 {
			p.Cost = &cost
		}
		return p
	})
}

// counted prepares a sliding counter that took so much in the window before this one and in this one, of which so much
// has gone.
func counted(before, current int, gone time.Duration) func(fcall.Subject, time.Time) [][]any {
	return func(s fcall.Subject, _ time.Time) [][]any {
		key := fcall.Key(ratelimit.Library.Name, s, "counter")
		_, exponent := math.Frexp(float64(time.Hour.Milliseconds()))
		return [][]any{{"SET", key, int64(exponent)*100_000_000_000_000 + int64(before*10_000_000+current), "PX", (2*time.Hour - gone).Milliseconds()}}
	}
}

func windowWorkloads() []workload {
	window, counter := fixedWindow(100, 1), slidingCounter(100, 1)
	million, most := fixedWindow(2_000_000, 5000), fixedWindow(1_000_000_000_000, 20_000_000)
	half := 30 * time.Minute
	return []workload{
		{name: "fixed_window allowed", rival: fixedWindowPeer, prepare: after(window), call: window, expect: nextOf100, most: fixedWindowGoal},
		{name: "fixed_window allowed, first use", rival: fixedWindowPeer, call: window, expect: firstOf100, most: fixedWindowGoal},
		{name: "fixed_window refused", rival: fixedWindowPeer, prepare: after(fixedWindow(100, 100)), call: window, expect: refused, most: fixedWindowGoal},
		{name: "fixed_window 2000000/h allowed", rival: fixedWindowPeer, prepare: after(million), call: million, expect: allowed, most: fixedWindowGoal},
		{name: "fixed_window 10^12/h allowed", rival: fixedWindowPeer, prepare: after(most), call: most, expect: allowed},

		{name: "sliding_counter allowed", prepare: counted(50, 20, half), call: counter, expect: allowed, most: slidingCounterGoal},
		{name: "sliding_counter allowed, first use", call: counter, expect: firstOf100, most: slidingCounterGoal},
		{name: "sliding_counter allowed, next window", prepare: counted(0, 50, 90*time.Minute), call: counter, expect: allowed, most: slidingCounterGoal},
		{name: "sliding_counter 2000000/h allowed", prepare: counted(1_900_000, 20, half), call: slidingCounter(2_000_000, 5000), expect: allowed, most: slidingCounterGoal},
		{name: "sliding_counter refused", prepare: counted(100, 60, half), call: counter, expect: refused, most: slidingCounterGoal},
	}
}

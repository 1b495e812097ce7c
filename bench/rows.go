package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// How answers begin.
const (
	allowed    = "{Allowed:true"
	admitted   = "{Allowed:true Duplicate:false "
	nextOf100  = "{Allowed:true Remaining:98 "
	placeGiven = "{Allowed:true Held:false Fence:"
)

// token is one as fcall.NewToken makes them, receipt one of a request with a fingerprint.
const (
	token   = "q3h5rT0cXkW1nYvZb7J2mA"
	receipt = "fp:5f0c7a1e:2f9be61dd1c84f0aa3a7"
)

// workloads are the rows of the server's part, in order: those of docs/performance.md, and budgets of several accounts.
func workloads() []workload {
	var all []workload
	for _, rows := range []func() []workload{windowRows, gcraRows, logRows, budgetRows, otherRows, guardRowsAtServer} {
		all = append(all, rows()...)
	}
	return all
}

func windowRows() []workload {
	fixed := of(ratelimit.New, (*ratelimit.Client).FixedWindow, func(s fcall.Subject) ratelimit.FixedWindowParams {
		return ratelimit.FixedWindowParams{Subject: s, Limit: 100, Window: time.Hour}
	})
	sliding := of(ratelimit.New, (*ratelimit.Client).SlidingCounter, func(s fcall.Subject) ratelimit.SlidingCounterParams {
		return ratelimit.SlidingCounterParams{Subject: s, Limit: 100, Window: time.Hour}
	})
	return []workload{
		{name: "fixed_window", rival: fixedWindowPeer, prepare: after(fixed), call: fixed, expect: nextOf100},
		{name: "sliding_counter", rival: fixedWindowPeer, prepare: after(times(20, sliding)...), call: sliding, expect: allowed},
	}
}

// spent is what half-full buckets of 100 an hour took before the call, and atHalf how the reply begins while 40 to 49 are left, six minutes
// long: so no bucket is full, which is another path.
const (
	spent  = 59
	atHalf = "{Allowed:true Remaining:4"
)

const gcraHundred = "gcra 100/h"

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

func gcraRows() []workload {
	hundred := ratelimit.GCRAParams{Limit: 100, Period: time.Hour}
	seven := ratelimit.GCRAParams{Limit: 7, Period: time.Minute, Burst: 100}
	return []workload{
		{name: gcraHundred, rival: redisRate, prepare: after(gcra(hundred, spent)), call: gcra(hundred, 0), expect: atHalf, share: 0.85},
		{name: "gcra 7/min", rival: redisRate, prepare: after(gcra(seven, spent)), call: gcra(seven, 0), expect: allowed, share: 0.85},
	}
}

func logRows() []workload {
	log := of(ratelimit.New, (*ratelimit.Client).SlidingLog, func(s fcall.Subject) ratelimit.SlidingLogParams {
		return ratelimit.SlidingLogParams{Subject: s, Limit: 20_000, Window: time.Hour}
	})
	const hundred = "sliding_log, 100 in the window"
	logs := ratelimit.PackLimit(
		ratelimit.Limit{Name: "minute", Kind: ratelimit.LimitKindSlidingLog, Limit: 20_000, Window: time.Minute},
		ratelimit.Limit{Name: "hour", Kind: ratelimit.LimitKindSlidingLog, Limit: 20_000, Window: time.Hour},
	)
	check := of(ratelimit.New, (*ratelimit.Client).Check, func(s fcall.Subject) ratelimit.CheckParams {
		return ratelimit.CheckParams{Subject: s, Limits: logs}
	})
	return []workload{
		{name: hundred, prepare: after(times(100, log)...), call: log, expect: admitted},
		{name: "sliding_log, 10,000 in the window", subjects: 1000, rival: hundred, prepare: after(times(10_000, log)...), call: log, expect: admitted, share: 1.5},
		{name: "check of two logs, 100 in each window", rival: hundred, prepare: after(times(100, check)...), call: check, expect: admitted},
	}
}

// before is the receipt of one of ten charges that a row's subject has.
func before(i int) string { return "fp:5f0c7a1e:0000000000000000000" + strconv.Itoa(i) }

func budgetRows() []workload {
	hour := cost.PackBudget(cost.Budget{Budget: 1_000_000, Window: time.Hour})
	reserve := func(receipt string) command {
		return of(cost.New, (*cost.Client).Reserve, func(s fcall.Subject) cost.ReserveParams {
			return cost.ReserveParams{Subject: s, Receipt: receipt, Estimate: 10_000, Budgets: hour}
		})
	}
	var ten []command
	for i := range 10 {
		ten = append(ten, reserve(before(i)))
	}
	return []workload{{name: "cost.reserve, 10 charges", rival: redisRate, prepare: after(ten...), call: reserve(receipt), expect: admitted}}
}

// holderName is one as a process makes it.
func holderName(i int) string { return fmt.Sprintf("q3h5rT0cXkW1nYvZb7J%03d", i) }

func acquire(i int) command {
	return of(concurrency.New, (*concurrency.Client).Acquire, func(s fcall.Subject) concurrency.AcquireParams {
		return concurrency.AcquireParams{Subject: s, Holder: holderName(i), Limit: 10, Lease: 10 * time.Minute}
	})
}

const acquireOne = "concurrency.acquire, 2 of 10 in use"

func otherRows() []workload {
	attempt := of(abuse.New, (*abuse.Client).Attempt, func(s fcall.Subject) abuse.AttemptParams {
		return abuse.AttemptParams{Subject: s, Tiers: abuse.PackAttemptTiers(abuse.AttemptTiers{Threshold: 5, Window: time.Minute, Block: 10 * time.Minute})}
	})
	issue := of(challenge.New, (*challenge.Client).Issue, func(s fcall.Subject) challenge.IssueParams {
		return challenge.IssueParams{Subject: s, Token: token, TTL: 5 * time.Minute}
	})
	consume := of(challenge.New, (*challenge.Client).Consume, func(s fcall.Subject) challenge.ConsumeParams {
		return challenge.ConsumeParams{Subject: s, Token: token}
	})
	return []workload{
		{name: "abuse.attempt", prepare: after(times(3, attempt)...), call: attempt, expect: allowed},
		{name: "challenge.consume", prepare: after(issue), call: consume, expect: "{Outcome:consumed"},
		{name: acquireOne, rival: zsetAcquire, prepare: after(acquire(0), acquire(1)), call: acquire(2), expect: placeGiven},
	}
}

// checkOf asks guard about limits alone, of a subject and others that are made of it.
func checkOf(holder string, limits fcall.Rows[guard.Limit], subjects ...string) command {
	return of(guard.New, (*guard.Client).Check, func(s fcall.Subject) guard.CheckParams {
		return guard.CheckParams{Subject: s, Limits: limits.For(others(s, subjects)...), Holder: holder}
	})
}

// admit asks guard about a subject and others that are made of it.
func admit(p guard.AdmitParams, budgetsOf ...string) command {
	return of(guard.New, (*guard.Client).Admit, func(s fcall.Subject) guard.AdmitParams {
		p.Subject, p.Budgets = s, p.Budgets.For(others(s, budgetsOf)...)
		return p
	})
}

func others(s fcall.Subject, names []string) (all []fcall.Subject) {
	for _, name := range names {
		all = append(all, s+fcall.Subject(name))
	}
	return all
}

// guardRowsAtServer are guard's decisions.
func guardRowsAtServer() []workload {
	hour := guard.Limit{Name: "hour", Kind: guard.LimitKindGCRA, Limit: 100, Window: time.Hour}
	address := guard.Limit{Name: "address", Kind: guard.LimitKindGCRA, Limit: 100, Window: time.Hour}
	running := guard.Limit{Name: "running", Kind: guard.LimitKindConcurrency, Limit: 10, Window: time.Minute}
	daily := guard.Budget{Budget: 1_000_000, Window: 24 * time.Hour}
	accounts := []string{"", "-team", "-user", "-key"}
	reserving := func(reservation string, budgets fcall.Rows[guard.Budget], accounts ...string) command {
		return admit(guard.AdmitParams{Budgets: budgets, Estimate: 10_000, Reservation: reservation, Hold: 10 * time.Minute}, accounts...)
	}
	one, four := guard.PackBudget(daily), guard.PackBudget(daily, daily, daily, daily)
	var ofOne, ofFour []command
	for i := range 10 {
		ofOne, ofFour = append(ofOne, reserving(before(i), one)), append(ofFour, reserving(before(i), four, accounts...))
	}
	const budget = "guard: a budget, 10 charges"
	return []workload{
		{name: "guard: a gcra", rival: redisRate, call: checkOf("", guard.PackLimit(hour)), expect: allowed, share: 1},
		{name: "guard: a gcra each of two subjects", rival: redisRate, call: checkOf("", guard.PackLimit(hour, address), "", "-address"), expect: allowed},
		{name: budget, rival: redisRate, prepare: after(ofOne...), call: reserving(token, one), expect: admitted, share: 2.5},
		{name: "guard: budgets of four accounts, 10 charges", rival: budget, prepare: after(ofFour...), call: reserving(token, four, accounts...), expect: admitted, share: 2.2},
		{name: "guard: a place of 10", rival: redisRate, call: checkOf(token, guard.PackLimit(running)), expect: allowed, share: 1.4},
	}
}

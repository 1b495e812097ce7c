package main

import (
	"strconv"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

func admit(p guard.AdmitParams) command {
	return of(guard.New, (*guard.Client).Admit, func(s fcall.Subject) guard.AdmitParams {
		p.Subject = s
		return p
	})
}

// admitOfTwo asks about limits of two subjects: the call's, and one that is made of it.
func admitOfTwo(limits guard.LimitPack) command {
	return of(guard.New, (*guard.Client).Admit, func(s fcall.Subject) guard.AdmitParams {
		return guard.AdmitParams{Subject: s, Limits: limits, LimitsOf: []fcall.Subject{s, s + "-address"}}
	})
}

func guardWorkloads() []workload {
	logs := []guard.Limit{
		{Name: "minute", Kind: guard.LimitKindSlidingLog, Limit: 200, Window: time.Minute},
		{Name: "hour", Kind: guard.LimitKindSlidingLog, Limit: 1000, Window: time.Hour},
	}
	full := []guard.Limit{logs[0], logs[1]}
	full[1].Limit = 100
	bucket := guard.Limit{Name: "hour", Kind: guard.LimitKindGCRA, Limit: 100, Window: time.Hour}
	address := guard.Limit{Name: "address", Kind: guard.LimitKindGCRA, Limit: 100, Window: time.Hour}
	both, one, two := guard.MustPackLimit(logs...), guard.MustPackLimit(bucket), guard.MustPackLimit(bucket, address)
	// held prepares the logs of minute and hour with 100 admissions each, and then the calls.
	held := func(calls ...command) func(fcall.Subject, time.Time) [][]any {
		return func(s fcall.Subject, now time.Time) [][]any {
			var commands [][]any
			for _, limit := range logs {
				key := fcall.KeyOf(guard.Library.Name, fcall.Tag(s), string(limit.Kind), limit.Name)
				commands = append(commands, logIn(key, int(limit.Limit), 100, 0, limit.Window, now)...)
			}
			return append(commands, after(calls...)(s, now)...)
		}
	}
	running := guard.MustPackLimit(guard.Limit{Name: "running", Kind: guard.LimitKindConcurrency, Limit: 10, Window: time.Minute})
	place := admit(guard.AdmitParams{Limits: running, Holder: token})
	renew := of(guard.New, (*guard.Client).Renew, func(s fcall.Subject) guard.RenewParams {
		return guard.RenewParams{Subject: s, Limits: running, Holder: token}
	})
	release := of(guard.New, (*guard.Client).Release, func(s fcall.Subject) guard.ReleaseParams {
		return guard.ReleaseParams{Subject: s, Limits: running, Holder: token}
	})
	// reserving reserves of a budget in each of some accounts, whose subjects are made of the call's.
	reserving := func(reservation string, budgets guard.BudgetPack, accounts ...fcall.Subject) command {
		return of(guard.New, (*guard.Client).Admit, func(s fcall.Subject) guard.AdmitParams {
			p := guard.AdmitParams{Subject: s, Budgets: budgets, Estimate: 10_000, Reservation: reservation, Hold: 10 * time.Minute}
			for _, account := range accounts {
				p.BudgetsOf = append(p.BudgetsOf, s+account)
			}
			return p
		})
	}
	daily := guard.Budget{Budget: 1_000_000, Window: 24 * time.Hour}
	budget, budgets := guard.MustPackBudget(daily), guard.MustPackBudget(daily, daily, daily, daily)
	accounts := []fcall.Subject{"", "-team", "-user", "-key"}
	var oneCharged, fourCharged []command
	for i := range 10 {
		id := "before" + strconv.Itoa(i)
		oneCharged, fourCharged = append(oneCharged, reserving(id, budget)), append(fourCharged, reserving(id, budgets, accounts...))
	}
	const refusedLogs = "{Allowed:false Duplicate:false Reason:limit "
	three := guard.MustPackLimit(bucket, address, guard.Limit{Name: "hour", Kind: guard.LimitKindFixedWindow, Limit: 100, Window: time.Hour})
	return []workload{
		{name: "guard.admit gcra 100/h allowed", rival: "gcra 100/h allowed", call: admit(guard.AdmitParams{Limits: one}), expect: admitted},
		{name: "guard.admit gcra of two subjects allowed", rival: "guard.admit gcra 100/h allowed", call: admitOfTwo(two), expect: admitted},
		{name: "guard.admit three limits allowed", rival: "guard.admit gcra 100/h allowed", call: admit(guard.AdmitParams{Limits: three}), expect: admitted},
		{name: "guard.admit minute + hour logs allowed", rival: "check minute + hour logs allowed", prepare: held(), call: admit(guard.AdmitParams{Limits: both}), expect: admitted},
		{name: "guard.admit minute + hour logs refused by hour", rival: "check minute + hour logs refused by hour", prepare: held(), call: admit(guard.AdmitParams{Limits: guard.MustPackLimit(full...)}), expect: refusedLogs},
		{name: "guard.admit a budget allowed, 10 charges", prepare: after(oneCharged...), call: reserving(token, budget), expect: admitted},
		{name: "guard.admit budgets of four accounts allowed, 10 charges", rival: "guard.admit a budget allowed, 10 charges", share: 2.2, prepare: after(fourCharged...), call: reserving(token, budgets, accounts...), expect: admitted},
		{name: "guard.admit a place of 10, first use", rival: "concurrency.acquire allowed, first use", call: place, expect: admitted},
		{name: "guard.renew a place", rival: "concurrency.renew", prepare: after(place), call: renew, expect: "{Lost:0"},
		{name: "guard.release a place", rival: "concurrency.release", prepare: after(place), call: release, expect: "{Released:1"},
	}
}

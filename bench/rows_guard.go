package main

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
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

// onGuarded connects a client that acts on a guarded subject's keys.
func onGuarded[C any](connect func(fcall.Caller, fcall.Options) (C, error)) func(fcall.Caller, fcall.Options) (C, error) {
	return func(caller fcall.Caller, o fcall.Options) (C, error) {
		o.Namespace = guard.Library.Name
		return connect(caller, o)
	}
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
	all := guard.AdmitParams{
		Limits: both, Budgets: guard.MustPackAdmitBudgets(guard.AdmitBudgets{Budget: 1_000_000_000, Window: 24 * time.Hour}), Estimate: 20_000,
		Reservation: token, Challenge: token, ChallengeRequired: true,
	}
	received := all
	received.Receipt = receipt
	counted := guard.AdmitParams{
		Limits: both, Tiers: guard.MustPackAdmitTiers(guard.AdmitTiers{Threshold: 50, Window: time.Minute, Block: 10 * time.Minute}),
	}
	issued := of(onGuarded(challenge.New), (*challenge.Client).Issue, func(s fcall.Subject) challenge.IssueParams {
		return challenge.IssueParams{Subject: s, Token: token, TTL: 5 * time.Minute}
	})
	blocked := of(onGuarded(abuse.New), (*abuse.Client).Block, func(s fcall.Subject) abuse.BlockParams {
		return abuse.BlockParams{Subject: s, Duration: time.Hour}
	})
	counters := guard.AdmitParams{Receipt: receipt, Limits: guard.MustPackLimit(
		guard.Limit{Name: "day", Kind: guard.LimitKindFixedWindow, Limit: 1000, Window: 24 * time.Hour},
		guard.Limit{Name: "burst", Kind: guard.LimitKindGCRA, Limit: 100, Window: time.Hour},
	)}
	back := of(guard.New, (*guard.Client).Refund, func(s fcall.Subject) guard.RefundParams {
		taken := []guard.RefundTaken{{Left: 24 * time.Hour}, {Left: 36 * time.Second}}
		return guard.RefundParams{Subject: s, Receipt: receipt, Limits: counters.Limits, Taken: taken}
	})
	batch := of(guard.New, (*guard.Client).Take, func(s fcall.Subject) guard.TakeParams {
		return guard.TakeParams{Subject: s, Limits: one, Most: 10}
	})
	running := guard.MustPackLimit(guard.Limit{Name: "running", Kind: guard.LimitKindConcurrency, Limit: 10, Window: time.Minute})
	place := admit(guard.AdmitParams{Limits: running, Holder: token})
	renew := of(guard.New, (*guard.Client).Renew, func(s fcall.Subject) guard.RenewParams {
		return guard.RenewParams{Subject: s, Limits: running, Holder: token}
	})
	release := of(guard.New, (*guard.Client).Release, func(s fcall.Subject) guard.ReleaseParams {
		return guard.ReleaseParams{Subject: s, Limits: running, Holder: token}
	})
	look := of(guard.New, (*guard.Client).Peek, func(s fcall.Subject) guard.PeekParams {
		return guard.PeekParams{Subject: s, Limits: []guard.PeekLimits{{Name: "minute"}, {Name: "hour"}}}
	})
	const (
		refusedLogs = "{Allowed:false Duplicate:false Reason:limit "
		heldBack    = "{Allowed:false Duplicate:false Reason:blocked "
	)
	three := guard.MustPackLimit(bucket, address, guard.Limit{Name: "hour", Kind: guard.LimitKindFixedWindow, Limit: 100, Window: time.Hour})
	return []workload{
		{name: "guard.admit gcra 100/h allowed", rival: "gcra 100/h allowed", call: admit(guard.AdmitParams{Limits: one}), expect: admitted},
		{name: "guard.admit gcra of two subjects allowed", rival: "guard.admit gcra 100/h allowed", call: admitOfTwo(two), expect: admitted},
		{name: "guard.admit three limits allowed", rival: "guard.admit gcra 100/h allowed", call: admit(guard.AdmitParams{Limits: three}), expect: admitted},
		{name: "guard.admit minute + hour logs allowed", rival: "check minute + hour logs allowed", prepare: held(), call: admit(guard.AdmitParams{Limits: both}), expect: admitted},
		{name: "guard.admit minute + hour logs refused by hour", rival: "check minute + hour logs refused by hour", prepare: held(), call: admit(guard.AdmitParams{Limits: guard.MustPackLimit(full...)}), expect: refusedLogs},
		{name: "guard.admit minute + hour logs, 1 tier", prepare: held(admit(counted)), call: admit(counted), expect: admitted},
		{name: "guard.admit logs + budget + challenge allowed", prepare: held(issued), call: admit(all), expect: admitted},
		{name: "guard.admit logs + budget + challenge, new receipt", prepare: held(issued), call: admit(received), expect: admitted},
		{name: "guard.admit logs + budget + challenge, duplicate receipt", prepare: held(issued, admit(received)), call: admit(received), expect: duplicate},
		{name: "guard.admit refused: blocked", prepare: after(blocked), call: admit(all), expect: heldBack},
		{name: "guard.refund window + bucket + receipt", prepare: after(admit(counters)), call: back, expect: "{Refunded:true"},
		{name: "guard.take 10 of gcra 100/h, all there", rival: "gcra_at_most 10 of 100/h, all there", call: batch, expect: "{Allowed:true Taken:10 "},
		{name: "guard.admit a place of 10, first use", rival: "concurrency.acquire allowed, first use", call: place, expect: admitted},
		{name: "guard.renew a place", rival: "concurrency.renew", prepare: after(place), call: renew, expect: "{Lost:0"},
		{name: "guard.release a place", rival: "concurrency.release", prepare: after(place), call: release, expect: "{Released:1"},
		{name: "guard.peek at 200 admissions", prepare: held(), call: look, expect: "{Now:"},
	}
}

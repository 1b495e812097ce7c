package main

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
)

const attemptGoal = 14

func attempt(p abuse.AttemptParams) command {
	return of(abuse.New, (*abuse.Client).Attempt, func(s fcall.Subject) abuse.AttemptParams {
		p.Bucket = s
		return p
	})
}

func abuseWorkloads() []workload {
	minute := []abuse.AttemptTiers{{Threshold: 5, Window: time.Minute, Block: 10 * time.Minute}}
	both := []abuse.AttemptTiers{minute[0], {Threshold: 50, Window: 24 * time.Hour, Block: 24 * time.Hour}}
	one, two := attempt(abuse.AttemptParams{Tiers: minute}), attempt(abuse.AttemptParams{Tiers: both})
	escalated := attempt(abuse.AttemptParams{Tiers: both, Escalation: []abuse.AttemptEscalation{{Block: time.Minute}, {Block: time.Hour}}})
	block := of(abuse.New, (*abuse.Client).Block, func(s fcall.Subject) abuse.BlockParams {
		return abuse.BlockParams{Bucket: s, Duration: time.Hour}
	})
	unblock := of(abuse.New, (*abuse.Client).Unblock, func(s fcall.Subject) abuse.UnblockParams { return abuse.UnblockParams{Bucket: s} })
	forgive := of(abuse.New, (*abuse.Client).Forgive, func(s fcall.Subject) abuse.ForgiveParams { return abuse.ForgiveParams{Bucket: s} })
	status := of(abuse.New, (*abuse.Client).Status, func(s fcall.Subject) abuse.StatusParams {
		return abuse.StatusParams{Bucket: s, Tiers: []abuse.StatusTiers{{Window: time.Minute}, {Window: 24 * time.Hour}}}
	})
	// allowed, reason, tier, retry_after, strikes, the number of rows, and two fields a row.
	const (
		allowedOne = "*8\r\n:1\r\n$4\r\nnone\r\n"
		allowedTwo = "*10\r\n:1\r\n$4\r\nnone\r\n"
		startsOne  = "*10\r\n:0\r\n$4\r\ntier\r\n:1\r\n"
		blockedTwo = "*10\r\n:0\r\n$7\r\nblocked\r\n"
	)
	return []workload{
		{name: "abuse.attempt allowed, 1 tier", prepare: after(times(3, one)...), call: one, expect: allowedOne, most: attemptGoal},
		{name: "abuse.attempt allowed, 2 tiers", prepare: after(times(3, two)...), call: two, expect: allowedTwo, most: attemptGoal},
		{name: "abuse.attempt allowed, first use", call: two, expect: allowedTwo, most: attemptGoal},
		{name: "abuse.attempt refused: starts a block", prepare: after(times(4, two)...), call: two, expect: startsOne, most: attemptGoal},
		{name: "abuse.attempt refused: starts an escalated block", prepare: after(times(4, escalated)...), call: escalated, expect: startsOne},
		{name: "abuse.attempt refused: blocked", prepare: after(times(5, two)...), call: two, expect: blockedTwo, most: attemptGoal},
		{name: "abuse.status", prepare: after(times(5, two)...), call: status, expect: "*8\r\n:1\r\n:1\r\n"},
		{name: "abuse.block", call: block, expect: "*2\r\n:1\r\n"},
		{name: "abuse.unblock", prepare: after(block), call: unblock, expect: existed},
		{name: "abuse.forgive", prepare: after(times(3, two)...), call: forgive, expect: existed},
	}
}

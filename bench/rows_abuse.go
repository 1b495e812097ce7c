package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
)

const attemptGoal = 14

const blockedOne = "{Allowed:false Reason:blocked "

func attempt(p abuse.AttemptParams) command {
	return of(abuse.New, (*abuse.Client).Attempt, func(s fcall.Subject) abuse.AttemptParams {
		p.Subject = s
		return p
	})
}

// attemptsIn returns the commands that give a subject attempts in the last half hour of an hour's window, as attempt stores them.
func attemptsIn(s fcall.Subject, threshold, attempts int, now time.Time) (commands [][]any) {
	const page = 12
	log, pages := fcall.Key(abuse.Library.Name, s, "attempts"), fcall.Key(abuse.Library.Name, s, "attempt_pages")
	var times []string
	for i := range attempts {
		times = append(times, fmt.Sprintf("%016d", now.Add(30*time.Minute*time.Duration(i-attempts)/time.Duration(attempts)).UnixMicro()))
	}
	head, full := "n", 0
	zadd := []any{"ZADD", pages}
	for ; len(times) > page; times = times[page:] {
		zadd = append(zadd, times[page-1], fmt.Sprintf("%010d", full)+strings.Join(times[:page], ""))
		full++
	}
	need := fmt.Sprintf("%05d%015d%015d", threshold, time.Hour.Microseconds(), 30*24*time.Hour.Microseconds())
	if full > 0 {
		commands = append(commands, zadd, []any{"PEXPIRE", pages, time.Hour.Milliseconds()})
		head, need = "h", need+fmt.Sprintf("%05d%04d%010d0000", attempts, full, full)
	}
	return append(commands, []any{"SET", log, head + need + strings.Join(times, ""), "PX", time.Hour.Milliseconds()})
}

// nearThreshold returns the workloads of attempts near a threshold. Their cost must not depend on its height.
func nearThreshold(name string, threshold, subjects, room int) []workload {
	tiers := []abuse.AttemptTiers{{Threshold: int64(threshold), Window: time.Hour, Block: time.Hour}}
	call := attempt(abuse.AttemptParams{Tiers: tiers})
	status := of(abuse.New, (*abuse.Client).Status, func(s fcall.Subject) abuse.StatusParams {
		return abuse.StatusParams{Subject: s, Tiers: []abuse.StatusTiers{{Threshold: int64(threshold), Window: time.Hour}}}
	})
	filled := func(attempts int, then ...command) func(fcall.Subject, time.Time) [][]any {
		return func(s fcall.Subject, now time.Time) [][]any {
			return append(attemptsIn(s, threshold, attempts, now), after(then...)(s, now)...)
		}
	}
	row := func(what string) string { return "abuse.attempt " + what + ", threshold " + name }
	rows := []workload{
		{name: row("allowed"), subjects: subjects, prepare: filled(threshold - room), call: call, expect: allowed},
		{name: row("refused: blocked"), subjects: subjects, prepare: filled(threshold-1, call), call: call, expect: blockedOne},
		{name: "abuse.status, threshold " + name, subjects: subjects, prepare: filled(threshold - room), call: status, expect: "{Blocked:false "},
	}
	if threshold > 10 {
		for i := range rows {
			rows[i].rival, rows[i].share = strings.TrimSuffix(rows[i].name, name)+"10", 2
		}
	}
	return rows
}

func abuseWorkloads() []workload {
	minute := []abuse.AttemptTiers{{Threshold: 5, Window: time.Minute, Block: 10 * time.Minute}}
	both := []abuse.AttemptTiers{minute[0], {Threshold: 50, Window: 24 * time.Hour, Block: 24 * time.Hour}}
	one, two := attempt(abuse.AttemptParams{Tiers: minute}), attempt(abuse.AttemptParams{Tiers: both})
	const startsOne = "{Allowed:false Reason:tier Tier:1 "
	near := slices.Concat(nearThreshold("10", 10, 0, 2), nearThreshold("1,000", 1000, 500, 200), nearThreshold("10,000", 10_000, 200, 400))
	return append([]workload{
		{name: "abuse.attempt allowed, 1 tier", prepare: after(times(3, one)...), call: one, expect: allowed, most: attemptGoal},
		{name: "abuse.attempt allowed, 2 tiers", prepare: after(times(3, two)...), call: two, expect: allowed, most: attemptGoal},
		{name: "abuse.attempt allowed, first use", call: two, expect: allowed, most: attemptGoal},
		{name: "abuse.attempt refused: starts a block", prepare: after(times(4, two)...), call: two, expect: startsOne, most: attemptGoal},
		{name: "abuse.attempt refused: blocked", prepare: after(times(5, two)...), call: two, expect: blockedOne, most: attemptGoal},
	}, near...)
}

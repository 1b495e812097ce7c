package main

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

const checkGoal = 1.75 // of what one sliding_log costs

func check(p ratelimit.CheckParams) command {
	return of(ratelimit.New, (*ratelimit.Client).Check, func(s fcall.Subject) ratelimit.CheckParams {
		p.Subject = s
		return p
	})
}

func checkWorkloads() []workload {
	var (
		logs = []ratelimit.Limit{
			{Name: "minute", Kind: ratelimit.LimitKindSlidingLog, Limit: 200, Window: time.Minute},
			{Name: "hour", Kind: ratelimit.LimitKindSlidingLog, Limit: 1000, Window: time.Hour},
		}
		full = []ratelimit.Limit{logs[0], logs[1]}
	)
	full[1].Limit = 100
	// held prepares the logs of minute and hour with 100 admissions each.
	held := func(s fcall.Subject, now time.Time) [][]any {
		var commands [][]any
		for _, limit := range logs {
			key := fcall.KeyOf(ratelimit.Library.Name, fcall.Tag(s), string(limit.Kind), limit.Name)
			commands = append(commands, logIn(key, int(limit.Limit), 100, 0, limit.Window, now)...)
		}
		return commands
	}
	both := ratelimit.MustPackLimit(logs...)
	allowed, refused := check(ratelimit.CheckParams{Limits: both}), check(ratelimit.CheckParams{Limits: ratelimit.MustPackLimit(full...)})
	withReceipt := check(ratelimit.CheckParams{Limits: both, Receipt: receipt})
	withOther := check(ratelimit.CheckParams{Limits: both, Receipt: otherReceipt})
	const refusedOne = "{Allowed:false Duplicate:false Refused:1 "
	return []workload{
		{name: "check minute + hour logs allowed", rival: slidingLogHundred, prepare: held, call: allowed, expect: admitted, share: checkGoal},
		{name: "check minute + hour logs allowed, first use", rival: slidingLogFirst, call: allowed, expect: admitted, share: checkGoal},
		{name: "check minute + hour logs refused by hour", rival: slidingLogFull, prepare: held, call: refused, expect: refusedOne, share: checkGoal},
		{name: "check minute + hour logs, new receipt", rival: slidingLogNew, prepare: after(withOther), call: withReceipt, expect: admitted},
	}
}

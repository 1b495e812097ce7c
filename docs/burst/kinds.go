package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A kind is a limiter with its limits. One without a title is played and not drawn.
type kind struct {
	File, Title, Limits string
	ask                 func(ctx context.Context) (bool, error)
}

func limiters(c *ratelimit.Client) []kind {
	both := ratelimit.MustPackLimit(
		ratelimit.Limit{Name: "minute", Kind: ratelimit.LimitKindSlidingLog, Limit: limit, Window: window},
		ratelimit.Limit{Name: "burst", Kind: ratelimit.LimitKindGCRA, Limit: limit, Window: window, Burst: 3},
	)
	return []kind{
		{"fixed_window", "fixed_window", "10 a minute, which begins with the first request", func(ctx context.Context) (bool, error) {
			answer, err := c.FixedWindow(ctx, ratelimit.FixedWindowParams{Subject: "u1", Limit: limit, Window: window})
			return answer.Allowed, err
		}},
		{"sliding_counter", "sliding_counter", "10 a minute", func(ctx context.Context) (bool, error) {
			answer, err := c.SlidingCounter(ctx, ratelimit.SlidingCounterParams{Subject: "u1", Limit: limit, Window: window})
			return answer.Allowed, err
		}},
		{"sliding_log", "sliding_log", "10 a minute", func(ctx context.Context) (bool, error) {
			answer, err := c.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: "u1", Limit: limit, Window: window})
			return answer.Allowed, err
		}},
		{"gcra", "gcra", "10 a minute, burst 10", func(ctx context.Context) (bool, error) {
			answer, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: "u1", Limit: limit, Period: window})
			return answer.Allowed, err
		}},
		{"gcra_burst_3", "gcra", "10 a minute, burst 3", func(ctx context.Context) (bool, error) {
			answer, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: "u2", Limit: limit, Period: window, Burst: 3})
			return answer.Allowed, err
		}},
		{"check", "check", "a sliding_log of 10 a minute and a gcra of 10 a minute, burst 3", func(ctx context.Context) (bool, error) {
			answer, err := c.Check(ctx, ratelimit.CheckParams{Subject: "u1", Limits: both})
			return answer.Allowed, err
		}},
	}
}

// budgets are not drawn: for equal costs they admit the same as sliding_log.
func budgets(c *cost.Client) []kind {
	receipt := 0
	return []kind{{File: "reserve", ask: func(ctx context.Context) (bool, error) {
		receipt++
		answer, err := c.Reserve(ctx, cost.ReserveParams{
			Subject: "u1", Receipt: fmt.Sprint(receipt), Estimate: 1,
			Limits: cost.MustPackAccountBudget(cost.AccountBudget{Budget: limit, Window: window}),
		})
		return answer.Allowed, err
	}}}
}

func blocks(c *abuse.Client) []kind {
	return []kind{{"attempt", "attempt", "the 11th in a minute starts a block of a minute", func(ctx context.Context) (bool, error) {
		answer, err := c.Attempt(ctx, abuse.AttemptParams{
			Subject: "u1", Tiers: []abuse.AttemptTiers{{Threshold: limit + 1, Window: window, Block: time.Minute}},
		})
		return answer.Allowed, err
	}}}
}

// record plays all kinds on the embedded engine.
func record(ctx context.Context) ([]run, error) {
	clock := embedded.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC))
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	for _, library := range []*fcall.Library{ratelimit.Library, cost.Library, abuse.Library} {
		if err := rdb.FunctionLoad(ctx, library.Code).Err(); err != nil {
			return nil, fmt.Errorf("load %s: %w", library.ServerName, err)
		}
	}
	limits, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		return nil, err
	}
	money, err := cost.New(server, fcall.Options{})
	if err != nil {
		return nil, err
	}
	attempts, err := abuse.New(server, fcall.Options{})
	if err != nil {
		return nil, err
	}
	kinds := append(append(limiters(limits), budgets(money)...), blocks(attempts)...)
	return play(ctx, kinds, clock.Advance)
}

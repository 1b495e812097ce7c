package main

import (
	"context"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A kind is a limiter with its limits.
type kind struct {
	Name, Limits string
	ask          func(ctx context.Context) (bool, error)
}

func limiters(c *ratelimit.Client) []kind {
	both := ratelimit.PackLimit(
		ratelimit.Limit{Name: "minute", Kind: ratelimit.LimitKindSlidingLog, Limit: limit, Window: window},
		ratelimit.Limit{Name: "burst", Kind: ratelimit.LimitKindGCRA, Limit: limit, Window: window, Burst: 3},
	)
	return []kind{
		{"fixed_window", "window from the first call", func(ctx context.Context) (bool, error) {
			answer, err := c.FixedWindow(ctx, ratelimit.FixedWindowParams{Subject: "u1", Limit: limit, Window: window})
			return answer.Allowed, err
		}},
		{"sliding_counter", "two counters, an estimate", func(ctx context.Context) (bool, error) {
			answer, err := c.SlidingCounter(ctx, ratelimit.SlidingCounterParams{Subject: "u1", Limit: limit, Window: window})
			return answer.Allowed, err
		}},
		{"sliding_log", "every admission is kept", func(ctx context.Context) (bool, error) {
			answer, err := c.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: "u1", Limit: limit, Window: window})
			return answer.Allowed, err
		}},
		{"gcra", "burst 10", func(ctx context.Context) (bool, error) {
			answer, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: "u1", Limit: limit, Period: window})
			return answer.Allowed, err
		}},
		{"gcra", "burst 3", func(ctx context.Context) (bool, error) {
			answer, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: "u2", Limit: limit, Period: window, Burst: 3})
			return answer.Allowed, err
		}},
		{"check", "sliding_log and gcra, burst 3", func(ctx context.Context) (bool, error) {
			answer, err := c.Check(ctx, ratelimit.CheckParams{Subject: "u1", Limits: both})
			return answer.Allowed, err
		}},
	}
}

func blocks(c *abuse.Client) []kind {
	return []kind{{"abuse.attempt", "the 11th blocks a minute", func(ctx context.Context) (bool, error) {
		answer, err := c.Attempt(ctx, abuse.AttemptParams{
			Subject: "u1", Tiers: abuse.PackAttemptTiers(abuse.AttemptTiers{Threshold: limit + 1, Window: window, Block: time.Minute}),
		})
		return answer.Allowed, err
	}}}
}

// record plays all kinds on the embedded engine.
func record(ctx context.Context) ([]run, error) {
	clock := embedded.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC))
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	limits, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		return nil, err
	}
	attempts, err := abuse.New(server, fcall.Options{})
	if err != nil {
		return nil, err
	}
	return play(ctx, append(limiters(limits), blocks(attempts)...), clock.Advance)
}

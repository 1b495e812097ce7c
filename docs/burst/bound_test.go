package main

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// docs/limiters.md bounds the admissions in any span of a window's length. Calls at random moments, often at the
// edges, never get more than bound, and get reached at least once.
func TestBounds_areReachedAndNotExceeded(t *testing.T) {
	const most, span = 4, 40 * time.Millisecond
	for _, b := range []struct {
		name           string
		bound, reached int
		ask            func(context.Context, *ratelimit.Client, fcall.Subject) (bool, error)
	}{
		{"fixed_window", 2 * most, 2 * most, func(ctx context.Context, c *ratelimit.Client, u fcall.Subject) (bool, error) {
			answer, err := c.FixedWindow(ctx, ratelimit.FixedWindowParams{Subject: u, Limit: most, Window: span})
			return answer.Allowed, err
		}},
		{"sliding_counter", 2 * most, 2*most - 2, func(ctx context.Context, c *ratelimit.Client, u fcall.Subject) (bool, error) {
			answer, err := c.SlidingCounter(ctx, ratelimit.SlidingCounterParams{Subject: u, Limit: most, Window: span})
			return answer.Allowed, err
		}},
		{"sliding_log", most, most, func(ctx context.Context, c *ratelimit.Client, u fcall.Subject) (bool, error) {
			answer, err := c.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: u, Limit: most, Window: span})
			return answer.Allowed, err
		}},
		{"gcra", 2 + most, 2 + most, func(ctx context.Context, c *ratelimit.Client, u fcall.Subject) (bool, error) {
			answer, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: u, Limit: most, Period: span, Burst: 2})
			return answer.Allowed, err
		}},
		{"gcra of microseconds", 2 + most, 2 + most - 1, func(ctx context.Context, c *ratelimit.Client, u fcall.Subject) (bool, error) {
			answer, err := c.GCRA(ctx, ratelimit.GCRAParams{Subject: u, Limit: most, Period: span - time.Microsecond, Burst: 2})
			return answer.Allowed, err
		}},
	} {
		t.Run(b.name, func(t *testing.T) {
			clock := embedded.NewManualClock(time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC))
			server := embedded.New(embedded.Options{Clock: clock})
			defer server.Close()
			rdb := server.Client()
			defer rdb.Close()
			if err := rdb.FunctionLoad(t.Context(), ratelimit.Library.Code).Err(); err != nil {
				t.Fatal(err)
			}
			client, err := ratelimit.New(server, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			draw := rand.New(rand.NewPCG(1, 2))
			seen, rounds := 0, 400
			if testing.Short() {
				rounds = 150
			}
			for range rounds {
				var admitted []time.Time
				for range 60 {
					clock.Advance(pause(draw, span))
					allowed, err := b.ask(t.Context(), client, "u1")
					if err != nil {
						t.Fatal(err)
					}
					if !allowed {
						continue
					}
					admitted = append(admitted, clock.Now())
					count := 0
					for _, at := range admitted {
						if clock.Now().Sub(at) < span {
							count++
						}
					}
					if seen = max(seen, count); count > b.bound {
						t.Fatalf("%d in %s, more than %d, at %v", count, span, b.bound, admitted)
					}
				}
				clock.Advance(3 * span)
			}
			if seen < b.reached {
				t.Errorf("at most %d were admitted in %s, want %d", seen, span, b.reached)
			}
		})
	}
}

// pause returns none, a moment, part of a window, or almost a whole one.
func pause(draw *rand.Rand, span time.Duration) time.Duration {
	switch draw.IntN(8) {
	case 0:
		return time.Duration(draw.Int64N(int64(span))).Truncate(time.Microsecond)
	case 1:
		return span - time.Duration(draw.IntN(3000))*time.Microsecond
	case 2:
		return span / 4
	case 3:
		return time.Duration(draw.IntN(3000)) * time.Microsecond
	default:
		return 0
	}
}

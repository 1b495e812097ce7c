package steps_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// atOnce makes n calls at the same time, each on its own goroutine, and counts the true answers.
func atOnce(t *testing.T, n int, call func(ctx context.Context, i int) (bool, error)) (yes int) {
	t.Helper()
	answers := make([]bool, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			var err error
			if answers[i], err = call(t.Context(), i); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	for _, a := range answers {
		if a {
			yes++
		}
	}
	return yes
}

// limiterKinds are an hourly limit, by each function and representation.
var limiterKinds = []struct {
	name string
	call func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error)
}{
	{"sliding_log", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.SlidingLog(ctx, logParams{Subject: "u1", Limit: limit, Window: time.Hour})
			return r.Allowed, err
		}
	}},
	{"sliding_log with receipts", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, i int) (bool, error) {
			r, err := c.SlidingLog(ctx, logParams{Subject: "u2", Limit: limit, Window: time.Hour, Receipt: fmt.Sprint("r", i)})
			return r.Allowed && !r.Duplicate, err
		}
	}},
	{"gcra by expiry", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.GCRA(ctx, gcraParams{Subject: "u1", Limit: limit, Period: time.Hour})
			return r.Allowed, err
		}
	}},
	{"gcra by value", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.GCRA(ctx, gcraParams{Subject: "u2", Limit: limit, Period: time.Hour + time.Microsecond})
			return r.Allowed, err
		}
	}},
	{"sliding_counter", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.SlidingCounter(ctx, counterParams{Subject: "u1", Limit: limit, Window: time.Hour})
			return r.Allowed, err
		}
	}},
	{"fixed_window", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		return func(ctx context.Context, _ int) (bool, error) {
			r, err := c.FixedWindow(ctx, windowParams{Subject: "u1", Limit: limit, Window: time.Hour})
			return r.Allowed, err
		}
	}},
	{"check of every kind", func(c *ratelimit.Client, limit int64) func(context.Context, int) (bool, error) {
		limits := suites.CheckLimits(limit)
		for i := range limits {
			limits[i].Window = time.Hour
		}
		return func(ctx context.Context, i int) (bool, error) {
			r, err := c.Check(ctx, checkParams{Subject: "u1", Limits: limits, Receipt: fmt.Sprint("r", i)}.Packed())
			return r.Allowed && !r.Duplicate, err
		}
	}},
}

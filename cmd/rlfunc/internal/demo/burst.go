package demo

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// oneMillisecond sends a hundred calls in one pipeline. On virtual time all have the same timestamp.
func (r *run) oneMillisecond(ctx context.Context, s *scene) error {
	const calls, most = 100, 60
	p := ratelimit.SlidingLogParams{Subject: r.subject("burst"), Limit: most, Window: window}
	pipe := r.client.Pipeline()
	before := pipe.Time(ctx)
	var pending []ratelimit.PendingSlidingLog
	for range calls {
		pending = append(pending, r.limits.QueueSlidingLog(ctx, pipe, p))
	}
	after := pipe.Time(ctx)
	_, execErr := pipe.Exec(ctx)
	answers, last, err := collect(pending)
	if err != nil {
		return err
	}
	if execErr != nil {
		return execErr
	}
	took := "all in the same microsecond"
	if d := after.Val().Sub(before.Val()); d > 0 {
		took = fmt.Sprintf("all within %s of the server's time", d)
	}
	got := s.row("60 per minute", answers, took)
	s.must(got.Passed == most && got.Refused == calls-most, "%d of %d passed; want %d", got.Passed, calls, most)
	s.must(last.Count == most, "the log holds %d entries after %d admissions", last.Count, most)
	s.found("exactly %d passed, and the log holds %d entries: none overwrote another", most, last.Count)
	return nil
}

func collect(pending []ratelimit.PendingSlidingLog) (answers []bool, last ratelimit.SlidingLogResult, err error) {
	for _, p := range pending {
		last, err = p.Result()
		if err != nil {
			return nil, last, err
		}
		answers = append(answers, last.Allowed)
	}
	return answers, last, nil
}

// sequentially makes calls one after the other and returns the last answer.
func (r *run) sequentially(ctx context.Context, n int, params func(i int) ratelimit.SlidingLogParams) ([]bool, ratelimit.SlidingLogResult, error) {
	var answers []bool
	var last ratelimit.SlidingLogResult
	for i := range n {
		var err error
		if last, err = r.limits.SlidingLog(ctx, params(i)); err != nil {
			return nil, last, err
		}
		answers = append(answers, last.Allowed)
	}
	return answers, last, nil
}

// doubleClick sends one receipt twice in a row, and then another on all connections at once.
func (r *run) doubleClick(ctx context.Context, s *scene) error {
	bucket := r.subject("click")
	p := ratelimit.SlidingLogParams{Subject: bucket, Limit: limit, Window: window, Receipt: "order-1"}
	answers, last, err := r.sequentially(ctx, 2, func(int) ratelimit.SlidingLogParams { return p })
	if err != nil {
		return err
	}
	got := s.row("twice order-1", answers, fmt.Sprintf("counted %d", last.Count))
	s.must(got.Passed == 2 && last.Duplicate, "the second click passed: %t, known as a duplicate: %t", last.Allowed, last.Duplicate)
	s.must(last.Count == 1, "a double click was counted %d times", last.Count)

	p.Receipt = "order-2"
	answers, err = r.simultaneously(ctx, atOnce, func(ctx context.Context, conn *redis.Conn, _ int) (bool, error) {
		a, err := r.slidingLog(ctx, conn, p)
		return a.Allowed, err
	})
	if err != nil {
		return err
	}
	after, err := r.limits.SlidingLogPeek(ctx, ratelimit.SlidingLogPeekParams{Subject: bucket, Limit: limit, Window: window})
	if err != nil {
		return err
	}
	got = s.row("50 x order-2", answers, fmt.Sprintf("at once, counted %d", after.Count-last.Count))
	s.must(got.Passed == atOnce, "%d of %d copies of one request passed", got.Passed, atOnce)
	s.must(after.Count == 2, "%d entries after two requests", after.Count)
	s.found("52 clicks, 2 requests, %d counted", after.Count)
	return nil
}

func (r *run) receiptsApart(ctx context.Context, s *scene) error {
	bucket := r.subject("orders")
	answers, last, err := r.sequentially(ctx, 12, func(i int) ratelimit.SlidingLogParams {
		return ratelimit.SlidingLogParams{Subject: bucket, Limit: limit, Window: window, Receipt: fmt.Sprintf("order-%d", i+1)}
	})
	if err != nil {
		return err
	}
	got := s.row("order-1 to -12", answers, "")
	s.must(got.Passed == limit && got.Refused == 2, "%d of 12 passed; want %d", got.Passed, limit)
	s.must(last.Count == limit, "%d counted, but %d passed", last.Count, got.Passed)
	s.found("%d receipts, %d counted; the other two were refused", got.Passed, last.Count)
	return nil
}

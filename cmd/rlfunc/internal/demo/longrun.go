package demo

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

const perPeriod = 7

// longRun empties a bucket and then takes each token as soon as the bucket has it.
func (r *run) longRun(ctx context.Context, s *scene) error {
	if r.clock != nil {
		return r.longRunVirtual(ctx, s)
	}
	return r.longRunReal(ctx, s)
}

// longRunVirtual makes a call, waits for retry_after, and calls again. The n-th token is due at n times 60 s / 7,
// rounded up to a microsecond.
func (r *run) longRunVirtual(ctx context.Context, s *scene) error {
	periods, inRow := r.periods, r.periods/5
	limits, err := ratelimit.New(r.direct, fcall.Options{Namespace: r.ns})
	if err != nil {
		return err
	}
	p := ratelimit.GCRAParams{Subject: r.subject("long-run"), Limit: perPeriod, Period: time.Minute}
	if err := empty(ctx, limits, p); err != nil {
		return err
	}
	start := r.clock.Now()
	end := start.Add(time.Duration(periods) * time.Minute)
	passed, shown, row := 0, 0, 1
	for {
		a, err := limits.GCRA(ctx, p)
		if err != nil {
			return err
		}
		if a.Allowed {
			passed++
			at := time.Duration((int64(passed)*time.Minute.Microseconds()+perPeriod-1)/perPeriod) * time.Microsecond
			s.must(r.clock.Now().Sub(start) == at, "token %d was available at %s, but due at %s", passed, r.clock.Now().Sub(start), at)
			continue
		}
		if a.RetryAfter <= 0 {
			s.fail("refused with a retry_after of %s", a.RetryAfter)
			return nil
		}
		next := r.clock.Now().Add(a.RetryAfter)
		for ; row <= periods/inRow && next.After(start.Add(time.Duration(row*inRow)*time.Minute)); row++ {
			text := fmt.Sprintf("%d in %d minutes", passed-shown, inRow)
			r.page.tally(fmt.Sprintf("to %d", row*inRow), passed-shown, inRow*perPeriod, text)
			shown = passed
		}
		if next.After(end) {
			break
		}
		r.clock.Set(next)
	}
	s.Rows = append(s.Rows, Row{Label: "passed", Passed: passed, Note: fmt.Sprintf("in %d minutes", periods)})
	s.must(passed == periods*perPeriod, "%d tokens in %d minutes; want %d", passed, periods, periods*perPeriod)
	s.found("%d tokens in %d minutes, each at its exact microsecond", passed, periods)
	return nil
}

func empty(ctx context.Context, limits *ratelimit.Client, p ratelimit.GCRAParams) error {
	all := int64(perPeriod)
	p.Cost = &all
	a, err := limits.GCRA(ctx, p)
	if err == nil && !a.Allowed {
		err = fmt.Errorf("a fresh bucket does not hold %d tokens", perPeriod)
	}
	return err
}

// longRunReal does the same for 3 s of real time with 7 tokens in 100 ms. Readings of the server's clock around the first and the
// last call bound the number of tokens due.
func (r *run) longRunReal(ctx context.Context, s *scene) error {
	const period, run = 100 * time.Millisecond, 3 * time.Second
	all := int64(1000) // more tokens than the run refills, so the bucket cannot overflow during a pause of the process
	p := ratelimit.GCRAParams{Subject: r.subject("long-run"), Limit: perPeriod, Period: period, Burst: all}
	drain := p
	drain.Cost = &all
	began, answer, err := r.timedGCRA(ctx, drain)
	if err != nil {
		return err
	}
	s.must(answer.Allowed, "a fresh bucket does not hold %d tokens", all)
	r.page.note("running for %s of real time at %d per %s", run, perPeriod, period)
	passed, shown, row := 0, 0, 1
	for {
		now, a, err := r.timedGCRA(ctx, p)
		if err != nil {
			return err
		}
		if a.Allowed {
			passed++
			continue
		}
		if gone := now.first.Sub(began.first); gone >= time.Duration(row)*time.Second {
			r.page.tally(fmt.Sprintf("second %d", row), passed-shown, 80, fmt.Sprintf("%d passed", passed-shown))
			shown, row = passed, row+1
		}
		if now.first.Sub(began.last) < run {
			if err := sleep(ctx, a.RetryAfter); err != nil {
				return err
			}
			continue
		}
		least, most := due(now.first.Sub(began.last), period), due(now.last.Sub(began.first), period)
		text := fmt.Sprintf("%d due", least)
		if least != most {
			text = fmt.Sprintf("%d to %d due", least, most)
		}
		s.Rows = append(s.Rows, Row{Label: "passed", Passed: passed, Note: text})
		gone := now.first.Sub(began.last)
		s.must(least <= passed && passed <= most, "%d tokens in %s, but %s", passed, gone, text)
		s.found("%d tokens in %s, %s: none lost, none added", passed, gone, text)
		return nil
	}
}

// due returns the number of tokens that a bucket gains in d.
func due(d, period time.Duration) int {
	n := new(big.Int).Mul(big.NewInt(int64(d)), big.NewInt(perPeriod))
	return int(n.Div(n, big.NewInt(int64(period))).Int64())
}

// timedGCRA makes a call between two readings of the server's clock.
func (r *run) timedGCRA(ctx context.Context, p ratelimit.GCRAParams) (instant, ratelimit.GCRAResult, error) {
	pipe := r.client.Pipeline()
	before := pipe.Time(ctx)
	pending := r.limits.QueueGCRA(ctx, pipe, p)
	after := pipe.Time(ctx)
	_, execErr := pipe.Exec(ctx)
	answer, err := pending.Result()
	if err == nil {
		err = execErr
	}
	return instant{first: before.Val(), last: after.Val()}, answer, err
}

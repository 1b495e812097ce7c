package demo

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

const (
	limit     = 10
	window    = time.Minute
	atOnce    = 50 // simultaneous requests
	perPeriod = 7  // of the long run
	maxRounds = 5  // most attempts to provoke the race: in one, the commands may happen not to interleave
)

// scenarios runs all scenarios. If one fails, the others still run.
func (r *run) scenarios(ctx context.Context) error {
	for _, play := range []struct {
		name, title, why string
		scenario         func(context.Context, *scene) error
	}{
		{"fifty_at_once", "Fifty at once", "50 simultaneous requests against 10 per minute: exactly 10 may pass.", r.fiftyAtOnce},
		{"double_click", "A double click", "A repeated receipt is the same request: it passes, and is counted once.", r.doubleClick},
		{"retry_after", "The eleventh call and its retry_after", "retry_after is exact to the microsecond, neither early nor late.", r.retryAfter},
		{"long_run", "Seven per minute, sustained", "60 s / 7 is no whole number of milliseconds; rounding may neither lose nor add a token.", r.longRun},
	} {
		s := &scene{Scenario: Scenario{Name: play.name}, page: r.page}
		r.page.title(len(r.verdict.Scenarios)+1, play.title, play.why)
		if err := play.scenario(ctx, s); err != nil {
			if ctx.Err() != nil {
				return fmt.Errorf("scenario %s: %w", play.name, context.Cause(ctx))
			}
			s.must(false, "%v", err)
		}
		s.OK = !s.failed
		r.page.found(s.OK, s.Found)
		r.verdict.Scenarios = append(r.verdict.Scenarios, s.Scenario)
	}
	return nil
}

// simultaneously makes atOnce calls at the same time, each by a client of its own that is connected by then. It returns the answers in order of arrival.
func (r *run) simultaneously(ctx context.Context, call func(c redis.UniversalClient, i int) (bool, error)) (answers []bool, err error) {
	var mu sync.Mutex
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(atOnce)
	for i := range atOnce {
		done.Go(func() {
			c := r.open()
			defer c.Close()
			failed := c.Ping(ctx).Err()
			ready.Done()
			<-start
			passed := false
			if failed == nil {
				passed, failed = call(c, i)
			}
			mu.Lock()
			defer mu.Unlock()
			if failed != nil {
				err = failed
				return
			}
			answers = append(answers, passed)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return answers, err
}

// sendAtOnce sends the same request simultaneously.
func (r *run) sendAtOnce(ctx context.Context, p ratelimit.SlidingLogParams) ([]bool, error) {
	return r.simultaneously(ctx, func(c redis.UniversalClient, _ int) (bool, error) {
		limits, err := ratelimit.New(c, fcall.Options{})
		if err != nil {
			return false, err
		}
		a, err := limits.SlidingLog(ctx, p)
		return a.Allowed, err
	})
}

func (r *run) fiftyAtOnce(ctx context.Context, s *scene) error {
	answers, err := r.sendAtOnce(ctx, ratelimit.SlidingLogParams{Subject: "fifty", Limit: limit, Window: window})
	if err != nil {
		return err
	}
	passed := s.row("one FCALL", answers, "")
	s.must(passed == limit, "%d of %d passed; want %d", passed, atOnce, limit)
	for round := 1; round <= maxRounds; round++ {
		key := "racy-" + strconv.Itoa(round)
		answers, err := r.simultaneously(ctx, func(c redis.UniversalClient, i int) (bool, error) { return fourCommands(ctx, c, key, i) })
		if err != nil {
			return err
		}
		if most := s.row("four commands", answers, "one by one: ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE"); most > limit {
			s.found("exactly %d passed; the four commands let %d through, %d too many", limit, most, most-limit)
			return nil
		}
	}
	s.found("exactly %d passed; the four commands did not race in %d rounds this time", limit, maxRounds)
	return nil
}

// fourCommands is a limiter as many services have it, and racy: each command is atomic, but the four together are not.
func fourCommands(ctx context.Context, c redis.Cmdable, key string, i int) (bool, error) {
	now := time.Now()
	if err := c.ZRemRangeByScore(ctx, key, "-inf", strconv.FormatInt(now.Add(-window).UnixMicro(), 10)).Err(); err != nil {
		return false, err
	}
	count, err := c.ZCard(ctx, key).Result()
	if err != nil || count >= limit {
		return false, err
	}
	member := fmt.Sprintf("%d-%d", now.UnixMicro(), i)
	if err := c.ZAdd(ctx, key, redis.Z{Score: float64(now.UnixMicro()), Member: member}).Err(); err != nil {
		return false, err
	}
	return true, c.Expire(ctx, key, window).Err()
}

// doubleClick sends one receipt on all connections at once, and then another one.
func (r *run) doubleClick(ctx context.Context, s *scene) error {
	p := ratelimit.SlidingLogParams{Subject: "click", Limit: limit, Window: window, Receipt: "order-1"}
	answers, err := r.sendAtOnce(ctx, p)
	if err != nil {
		return err
	}
	p.Receipt = "order-2"
	other, err := r.limits.SlidingLog(ctx, p)
	if err != nil {
		return err
	}
	passed := s.row("50 x order-1", answers, "at once")
	s.row("order-2", []bool{other.Allowed}, "")
	s.must(passed == atOnce, "%d of %d copies of one request passed", passed, atOnce)
	s.must(other.Count == 2 && !other.Duplicate, "%d counted after 2 requests, the second one known as a duplicate: %t", other.Count, other.Duplicate)
	s.found("51 clicks, 2 requests, %d counted", other.Count)
	return nil
}

// retryAfter fills a window, is refused, and calls again after retry_after, and a microsecond sooner.
func (r *run) retryAfter(ctx context.Context, s *scene) error {
	const gap = 1234567 * time.Microsecond
	p := ratelimit.SlidingLogParams{Subject: "eleventh", Limit: limit, Window: window}
	var answers []bool
	last, err := r.limits.SlidingLog(ctx, p)
	for range limit {
		if err != nil {
			return err
		}
		answers = append(answers, last.Allowed)
		r.clock.Advance(gap)
		last, err = r.limits.SlidingLog(ctx, p)
	}
	if err != nil {
		return err
	}
	wait := last.RetryAfter
	s.row("11 calls", append(answers, last.Allowed), "retry_after "+wait.String())
	s.must(!last.Allowed, "the eleventh passed")
	s.must(wait == window-limit*gap, "retry_after is %s, but the first entry leaves the window in %s", wait, window-limit*gap)
	if s.failed {
		return nil
	}
	r.clock.Advance(wait - time.Microsecond)
	if last, err = r.limits.SlidingLog(ctx, p); err != nil {
		return err
	}
	s.row("1 µs sooner", []bool{last.Allowed}, "retry_after "+last.RetryAfter.String())
	s.must(!last.Allowed && last.RetryAfter == time.Microsecond, "1 µs sooner: allowed %t, retry_after %s", last.Allowed, last.RetryAfter)
	r.clock.Advance(last.RetryAfter)
	then, err := r.limits.SlidingLog(ctx, p)
	if err != nil {
		return err
	}
	s.row("then", []bool{then.Allowed}, "")
	s.must(then.Allowed, "refused again after retry_after, for %s", then.RetryAfter)
	s.found("refused for %s; still refused 1 µs before that, then passed", wait)
	return nil
}

// longRun empties a bucket and then takes each token as soon as it is there: call, wait for retry_after, and call again. The n-th token is due at
// n times 60 s / 7, rounded up to a millisecond: no token is later than that, however many were before it.
func (r *run) longRun(ctx context.Context, s *scene) error {
	limits, err := ratelimit.New(r.direct, fcall.Options{})
	if err != nil {
		return err
	}
	p := ratelimit.GCRAParams{Subject: "long-run", Limit: perPeriod, Period: time.Minute, Cost: new(int64(perPeriod))}
	began, tokens := r.clock.Now(), perPeriod*r.minutes
	if a, err := limits.GCRA(ctx, p); err != nil || !a.Allowed {
		s.must(false, "a fresh bucket does not hold %d tokens", perPeriod)
		return err
	}
	p.Cost = nil
	for n := 1; n <= tokens; n++ {
		refused, err := limits.GCRA(ctx, p)
		if err != nil {
			return err
		}
		r.clock.Advance(refused.RetryAfter)
		a, err := limits.GCRA(ctx, p)
		if err != nil {
			return err
		}
		at := r.clock.Now().Sub(began)
		due := time.Duration((int64(n)*time.Minute.Milliseconds()+perPeriod-1)/perPeriod) * time.Millisecond
		s.must(!refused.Allowed && a.Allowed && at == due, "token %d was there at %s: %t; it is due at %s", n, at, a.Allowed, due)
		if s.failed {
			return nil
		}
	}
	s.found("%d tokens in %d minutes, each at its exact millisecond", tokens, r.minutes)
	return nil
}

package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// retryAfter fills a window, is refused, and calls again exactly after retry_after.
func (r *run) retryAfter(ctx context.Context, s *scene) error {
	if r.clock != nil {
		return r.retryAfterVirtual(ctx, s)
	}
	return r.retryAfterReal(ctx, s)
}

func (r *run) retryAfterVirtual(ctx context.Context, s *scene) error {
	p := ratelimit.SlidingLogParams{Subject: r.subject("eleventh"), Limit: limit, Window: window}
	answers, last, err := r.sequentially(ctx, limit+1, func(i int) ratelimit.SlidingLogParams {
		if i > 0 {
			r.clock.Advance(1234567 * time.Microsecond)
		}
		return p
	})
	if err != nil {
		return err
	}
	wait := last.RetryAfter
	s.row("11 calls", answers, "retry_after "+wait.String())
	s.must(!last.Allowed, "the eleventh passed")
	want := window - limit*1234567*time.Microsecond
	s.must(wait == want, "retry_after is %s, but the first entry leaves the window in %s", wait, want)
	if wait < 2*time.Microsecond {
		return nil // the limiter is defective, and s has failed
	}

	r.clock.Advance(wait - time.Microsecond)
	early, err := r.limits.SlidingLog(ctx, p)
	if err != nil {
		return err
	}
	s.row("1 µs sooner", []bool{early.Allowed}, "retry_after "+early.RetryAfter.String())
	s.must(!early.Allowed && early.RetryAfter == time.Microsecond, "1 µs sooner: allowed %t, retry_after %s", early.Allowed, early.RetryAfter)

	r.clock.Advance(time.Microsecond)
	then, err := r.limits.SlidingLog(ctx, p)
	if err != nil {
		return err
	}
	s.row("then", []bool{then.Allowed}, "")
	s.must(then.Allowed, "refused again after retry_after, for %s", then.RetryAfter)
	s.found("refused for %s; still refused 1 µs before that, then passed", wait)
	return nil
}

// An attempt is a call between two readings of the server's clock.
type attempt struct {
	before, after time.Time
	answer        ratelimit.SlidingLogResult
}

// attempts makes n calls in one round trip, with a reading of the clock around each.
func (r *run) attempts(ctx context.Context, n int, p ratelimit.SlidingLogParams) ([]attempt, error) {
	pipe := r.client.Pipeline()
	times := []*redis.TimeCmd{pipe.Time(ctx)}
	var pending []ratelimit.PendingSlidingLog
	for range n {
		pending = append(pending, r.limits.QueueSlidingLog(ctx, pipe, p))
		times = append(times, pipe.Time(ctx))
	}
	_, execErr := pipe.Exec(ctx)
	var all []attempt
	for i := range pending {
		answer, err := pending[i].Result()
		if err != nil {
			return nil, err
		}
		all = append(all, attempt{times[i].Val(), times[i+1].Val(), answer})
	}
	return all, execErr
}

// retryAfterReal reads the server's clock around each call, because it cannot stop a real clock 1 µs early. From all refusals it
// narrows the instant at which the window opens. Calls before it must be refused, and calls after it admitted.
func (r *run) retryAfterReal(ctx context.Context, s *scene) error {
	const window = 2 * time.Second
	p := ratelimit.SlidingLogParams{Subject: r.subject("eleventh"), Limit: limit, Window: window}
	first, err := r.attempts(ctx, limit+1, p)
	if err != nil {
		return err
	}
	var answers []bool
	for _, a := range first {
		answers = append(answers, a.answer.Allowed)
	}
	last := first[limit]
	s.row("11 calls", answers, "retry_after "+last.answer.RetryAfter.String())
	s.must(!last.answer.Allowed, "the eleventh passed")
	s.must(last.answer.RetryAfter <= window, "retry_after is %s, more than the window", last.answer.RetryAfter)
	if s.failed {
		return nil
	}
	opens := instant{last.before.Add(last.answer.RetryAfter), last.after.Add(last.answer.RetryAfter)}
	r.page.note("waiting %s of real time, then retrying without a pause", last.answer.RetryAfter.Round(time.Millisecond))
	if err := sleep(ctx, last.answer.RetryAfter-20*time.Millisecond); err != nil {
		return err
	}
	for deadline := time.Now().Add(2 * window); time.Now().Before(deadline); {
		// One long pipeline, because milliseconds pass between two pipelines.
		tries, err := r.attempts(ctx, 3000, p)
		if err != nil {
			return err
		}
		for _, a := range tries {
			if a.answer.Allowed {
				s.must(!a.after.Before(opens.first), "a call passed at least %s too early", opens.first.Sub(a.after))
				s.row("last refusal", []bool{false}, "retry_after "+last.answer.RetryAfter.String())
				s.row("the next call", []bool{true}, fmt.Sprintf("within %s after it", a.after.Sub(last.before)))
				s.found("the last refusal said %s, and then a call passed", last.answer.RetryAfter)
				return nil
			}
			opens.narrow(instant{a.before.Add(a.answer.RetryAfter), a.after.Add(a.answer.RetryAfter)})
			s.must(!opens.last.Before(opens.first), "the retry_after of two refusals disagree by %s", opens.first.Sub(opens.last))
			s.must(a.before.Before(opens.last), "a call was refused at least %s too late", a.before.Sub(opens.last))
			last = a
		}
	}
	s.fail("calls were still refused after %s", 2*window)
	return nil
}

// An instant is a time known to lie between first and last.
type instant struct{ first, last time.Time }

func (i *instant) narrow(by instant) {
	if by.first.After(i.first) {
		i.first = by.first
	}
	if by.last.Before(i.last) {
		i.last = by.last
	}
}

// sleep waits on real time, or until the demo is interrupted.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

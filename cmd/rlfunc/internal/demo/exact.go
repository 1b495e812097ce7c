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
	p := ratelimit.SlidingLogParams{Bucket: r.subject("eleventh"), Limit: limit, Window: window}
	answers, last, err := r.inARow(ctx, limit+1, func(i int) ratelimit.SlidingLogParams {
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
	s.must(wait == want, "retry_after is %s, and the first entry leaves the window in %s", wait, want)
	if wait < 2*time.Microsecond {
		return nil // only a broken limiter comes here, and it has failed already
	}

	r.clock.Advance(wait - time.Microsecond)
	early, err := r.limits.SlidingLog(ctx, p)
	if err != nil {
		return err
	}
	s.row("1µs sooner", []bool{early.Allowed}, "retry_after "+early.RetryAfter.String())
	s.must(!early.Allowed && early.RetryAfter == time.Microsecond, "one microsecond sooner: allowed %t, retry_after %s", early.Allowed, early.RetryAfter)

	r.clock.Advance(time.Microsecond)
	then, err := r.limits.SlidingLog(ctx, p)
	if err != nil {
		return err
	}
	s.row("then", []bool{then.Allowed}, "")
	s.must(then.Allowed, "after its whole retry_after it was refused again, for %s", then.RetryAfter)
	s.found("refused for %s; refused one microsecond sooner; passed then", wait)
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

// retryAfterReal cannot stop a real clock one microsecond early. It reads the server's clock around each call: no refusal may come
// after the instant that all refusals together name, and no admission before it.
func (r *run) retryAfterReal(ctx context.Context, s *scene) error {
	const window = 2 * time.Second
	p := ratelimit.SlidingLogParams{Bucket: r.subject("eleventh"), Limit: limit, Window: window}
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
	r.page.note("waiting %s of real time, then trying again and again", last.answer.RetryAfter.Round(time.Millisecond))
	if err := sleep(ctx, last.answer.RetryAfter-20*time.Millisecond); err != nil {
		return err
	}
	for deadline := time.Now().Add(2 * window); time.Now().Before(deadline); {
		// One long pipeline: between two of them there would be milliseconds without a call.
		tries, err := r.attempts(ctx, 3000, p)
		if err != nil {
			return err
		}
		for _, a := range tries {
			if a.answer.Allowed {
				s.must(!a.after.Before(opens.first), "it passed at least %s before its time", opens.first.Sub(a.after))
				s.row("last refusal", []bool{false}, "retry_after "+last.answer.RetryAfter.String())
				s.row("the next call", []bool{true}, fmt.Sprintf("within %s after it", a.after.Sub(last.before)))
				s.found("refused until %s before its time, then passed", last.answer.RetryAfter)
				return nil
			}
			opens.narrow(instant{a.before.Add(a.answer.RetryAfter), a.after.Add(a.answer.RetryAfter)})
			s.must(!opens.last.Before(opens.first), "two refusals name different instants, %s apart", opens.first.Sub(opens.last))
			s.must(a.before.Before(opens.last), "it was refused at least %s after its time", a.before.Sub(opens.last))
			last = a
		}
	}
	s.fail("it was still refused %s after its time", 2*window)
	return nil
}

// An instant is known to lie between two others.
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
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

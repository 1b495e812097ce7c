package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	quotaParams = ratelimit.QuotaParams
	quotaResult = ratelimit.QuotaResult
)

// quotaOf returns a call of a caller whose clock differs from the test's start.
func quotaOf(every calendar.Every, zone string, limit int64, clockOff time.Duration) quotaParams {
	c, err := calendar.New(calendar.Period{Every: every, Zone: zone})
	if err != nil {
		panic(err)
	}
	b := c.Around(luatest.Start.Add(clockOff))
	return quotaParams{Subject: "u1", Limit: limit, Previous: b.Previous, Start: b.Start, Next: b.Next, After: b.After}
}

func quota(p quotaParams) func(context.Context, *ratelimit.Client) (any, error) {
	return func(ctx context.Context, c *ratelimit.Client) (any, error) {
		r, err := c.Quota(ctx, p)
		err = took(err, p.Cost, p.AtMost, r.Allowed, &r.Taken, &r.At)
		return r, err
	}
}

// untilEnd is the time from the test's start to the end of a caller's period.
func untilEnd(p quotaParams) time.Duration { return p.Next.Sub(luatest.Start) }

// keyed is the expiry of the bucket of u1: whole milliseconds.
func keyed(d time.Duration) ttls { return ttls{key("u1", "quota"): wholeMillisecondsUp(d)} }

func wholeMillisecondsUp(d time.Duration) time.Duration {
	at := luatest.Start.Add(d)
	return at.Sub(luatest.Start.Truncate(time.Millisecond))
}

func TestQuota_admitsTheLimitUntilTheDayEnds(t *testing.T) {
	today := quotaOf(calendar.Day, "UTC", 3, 0)
	take, end := quota(today), untilEnd(today)
	limiters.Run(
		t,
		step{Name: "first use", Call: take, Writes: true, TTLs: keyed(end), Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: end}},
		step{Advance: time.Hour, Call: take, Writes: true, Want: quotaResult{Allowed: true, Remaining: 1, ResetAfter: end - time.Hour}},
		step{Name: "exactly the limit", Call: take, Writes: true, Want: quotaResult{Allowed: true, ResetAfter: end - time.Hour}},
		step{Name: "one more", Call: take, Want: quotaResult{RetryAfter: end - time.Hour, ResetAfter: end - time.Hour}},
		step{Name: "one tick sooner", Advance: end - time.Hour - time.Microsecond, Call: take, Want: quotaResult{RetryAfter: time.Microsecond, ResetAfter: time.Microsecond}},
		step{Name: "the next day, by the same boundaries", Advance: time.Microsecond, Call: take, Writes: true, Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: day}},
		step{Name: "long idle", Advance: 1000 * day, Call: quota(quotaOf(calendar.Day, "UTC", 3, end+1000*day)), Writes: true, Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: day}},
	)
}

func TestQuota_cost(t *testing.T) {
	p := quotaOf(calendar.Month, "Europe/Berlin", 16_777_216, 0)
	take := func(n int64) func(context.Context, *ratelimit.Client) (any, error) {
		p := p
		p.Cost = cost(n)
		return quota(p)
	}
	end := untilEnd(p)
	steps := []step{{Name: "cost 0 on nothing", Call: take(0), Want: quotaResult{Allowed: true, Remaining: 16_777_216}}}
	for i := range int64(16) {
		steps = append(steps, step{Call: take(1_000_000), Writes: true, Want: quotaResult{Allowed: true, Remaining: 16_777_216 - (i+1)*1_000_000, ResetAfter: end}})
	}
	limiters.Run(
		t, append(
			steps,
			step{Name: "more than is left", Call: take(777_217), Want: quotaResult{Remaining: 777_216, RetryAfter: end, ResetAfter: end}},
			step{Name: "a refused call has taken nothing", Call: take(777_216), Writes: true, Want: quotaResult{Allowed: true, ResetAfter: end}},
			step{Name: "cost 0 passes a full quota", Call: take(0), Want: quotaResult{Allowed: true, ResetAfter: end}},
		)...,
	)
}

// The server's clock decides: neither caller begins a day early, extends one, or has a quota of its own.
func TestQuota_aCallerWithAWrongClockBeginsNoPeriod(t *testing.T) {
	at := func(off time.Duration) func(context.Context, *ratelimit.Client) (any, error) {
		return quota(quotaOf(calendar.Hour, "UTC", 4, off))
	}
	end := untilEnd(quotaOf(calendar.Hour, "UTC", 4, 0))
	limiters.Run(
		t,
		step{Call: at(0), Writes: true, Want: quotaResult{Allowed: true, Remaining: 3, ResetAfter: end}},
		step{Name: "an hour ahead", Call: at(time.Hour), Writes: true, Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: end}},
		step{Name: "an hour behind", Call: at(-time.Hour), Writes: true, Want: quotaResult{Allowed: true, Remaining: 1, ResetAfter: end}},
		step{Call: at(0), Writes: true, Want: quotaResult{Allowed: true, ResetAfter: end}},
		step{Name: "full for the one ahead", Call: at(time.Hour), Want: quotaResult{RetryAfter: end, ResetAfter: end}},
		step{Name: "and for the one behind", Call: at(-time.Hour), Want: quotaResult{RetryAfter: end, ResetAfter: end}},
		step{Name: "two periods ahead", Call: at(2 * time.Hour), WantErr: fcall.ErrArgument},
		step{Name: "two periods behind", Call: at(-2 * time.Hour), WantErr: fcall.ErrArgument},
		step{Name: "the next hour, by a clock that has not reached it", Advance: end, Call: at(0), Writes: true, Want: quotaResult{Allowed: true, Remaining: 3, ResetAfter: time.Hour}},
		step{Name: "and by one that was right all along", Call: at(end), Writes: true, Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: time.Hour}},
	)
}

func TestQuota_boundaries(t *testing.T) {
	p := quotaOf(calendar.Day, "UTC", 3, 0)
	with := func(change func(*quotaParams)) func(context.Context, *ratelimit.Client) (any, error) {
		p := p
		change(&p)
		return quota(p)
	}
	limiters.Run(
		t,
		step{Name: "start before previous", Call: with(func(p *quotaParams) { p.Previous = p.Start.Add(time.Microsecond) }), WantErr: fcall.ErrArgument},
		step{Name: "an empty period", Call: with(func(p *quotaParams) { p.Next = p.Start }), WantErr: fcall.ErrArgument},
		step{Name: "after before next", Call: with(func(p *quotaParams) { p.After = p.Start }), WantErr: fcall.ErrArgument},
		step{Name: "more than ten years", Call: with(func(p *quotaParams) { p.After = p.Previous.Add(3650*day + time.Microsecond) }), WantErr: fcall.ErrArgument},
		step{Name: "ten years", Call: with(func(p *quotaParams) { p.After = p.Previous.Add(3650 * day) }), Writes: true, Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: untilEnd(p)}},
		step{Name: "cost above the limit", Call: with(func(p *quotaParams) { p.Cost = cost(4) }), WantErr: fcall.ErrArgument},
	)
}

// A clock that is set back into the period before finds that one's count, and the later one's when it comes again.
func TestQuota_clockSetBack(t *testing.T) {
	p := quotaOf(calendar.Hour, "UTC", 3, 0)
	end := untilEnd(p)
	limiters.Run(
		t,
		step{Call: quota(p), Writes: true, Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: end}},
		step{Advance: end, Call: quota(p), Writes: true, Want: quotaResult{Allowed: true, Remaining: 2, ResetAfter: time.Hour}},
		step{Name: "back in the first hour", Advance: -end, Call: quota(p), Writes: true, Want: quotaResult{Allowed: true, Remaining: 1, ResetAfter: end}},
		step{Name: "the later hour goes on", Advance: end, Call: quota(p), Writes: true, Want: quotaResult{Allowed: true, Remaining: 1, ResetAfter: time.Hour}},
		step{Name: "a day back", Advance: -day, Call: quota(p), WantErr: fcall.ErrArgument},
	)
}

// Periods of other callers are counts of their own, and go once no clock can be in them.
func TestQuota_periodsOfTheirOwn(t *testing.T) {
	hour, today := quotaOf(calendar.Hour, "UTC", 3, 0), quotaOf(calendar.Day, "UTC", 5, 0)
	end := untilEnd(hour)
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		take := func(p quotaParams, want int64) {
			t.Helper()
			if r, err := c.Quota(t.Context(), p); err != nil || !r.Allowed || r.Remaining != want {
				t.Errorf("%+v, %v: want %d left", r, err, want)
			}
		}
		take(hour, 2)
		take(today, 4)
		take(hour, 1)
		take(today, 3)
		s.Advance(t, end)
		take(hour, 2)
		s.Advance(t, time.Hour)
		take(quotaOf(calendar.Hour, "UTC", 3, end+time.Hour), 2)
		if n := s.Redis.HLen(t.Context(), key("u1", "quota")).Val(); n != 3 {
			t.Errorf("%d periods are kept, want today, this hour and the one before", n)
		}
	})
}

package steps_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// Mistake 3: what is refused is recorded. A refused check leaves each of its limits as it was, whichever of them refuses.
func TestMistake03_refusedChecksFillNoWindow(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		limits := suites.CheckLimits(1)
		for i := range 41 {
			r, err := c.Check(t.Context(), checkParams{Subject: "u1", Limits: limits}.Packed())
			// A sliding_counter of 1 has to forget the window before.
			if want := i%20 == 0; err != nil || r.Allowed != want {
				t.Errorf("check in second %d: %+v %v, want allowed %v", i, r, err, want)
			}
			s.Advance(t, time.Second)
		}
	})
}

// Mistake 5: identities split at colons. Two IPv6 addresses that end alike, and what is behind their last colon, are three
// subjects to every library.
func TestMistake05_identitiesSplitAtColonsInEveryLibrary(t *testing.T) {
	ends := []fcall.Subject{"2001:db8::1:7334", "2002:db9::2:7334", "7334"}
	limiters.Each(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		for _, subject := range ends {
			if r, err := c.Check(t.Context(), checkParams{Subject: subject, Limits: suites.CheckLimits(1), Receipt: "r"}.Packed()); err != nil || !r.Allowed || r.Duplicate {
				t.Errorf("the first check of %s: %+v %v", subject, r, err)
			}
		}
	})
	abusers.Each(t, func(t *testing.T, _ *luatest.Server, c *abuse.Client) {
		for _, subject := range ends {
			r, err := c.Attempt(t.Context(), attemptParams{Subject: subject, Tiers: []attemptTier{{Threshold: 2, Window: time.Minute, Block: time.Minute}}})
			if err != nil || !r.Allowed {
				t.Errorf("the first attempt of %s: %+v %v", subject, r, err)
			}
		}
	})
	challenges.Each(t, func(t *testing.T, _ *luatest.Server, c *challenge.Client) {
		if _, err := c.Issue(t.Context(), issueParams{Subject: ends[0], Token: "t", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		for _, subject := range ends[1:] {
			r, err := c.Consume(t.Context(), challenge.ConsumeParams{Subject: subject, Token: "t"})
			if err != nil || r == consumed {
				t.Errorf("%s consumes the challenge of %s: %+v %v", subject, ends[0], r, err)
			}
		}
	})
}

// Mistake 9: retry_after from a second call after the decision, when it is another state. Each refusal of many at once
// carries its own.
func TestMistake09_retryAfterIsTheRefusals(t *testing.T) {
	const window = time.Hour
	limiters.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		fits := func(allowed bool, remaining int64, retry time.Duration) error {
			if allowed != (retry == 0) || retry > window || !allowed && (remaining != 0 || retry < window-time.Minute) {
				return fmt.Errorf("allowed %v, %d left, and retry after %s", allowed, remaining, retry)
			}
			return nil
		}
		log := atOnce(t, 100, func(ctx context.Context, _ int) (bool, error) {
			r, err := c.SlidingLog(ctx, logParams{Subject: "u1", Limit: 10, Window: window})
			if err == nil {
				err = fits(r.Allowed, r.Remaining, r.RetryAfter)
			}
			return r.Allowed, err
		})
		limit := checkLimit{Name: "hour", Kind: ratelimit.LimitKindFixedWindow, Limit: 10, Window: window}
		checked := atOnce(t, 100, func(ctx context.Context, _ int) (bool, error) {
			r, err := c.Check(ctx, checkParams{Subject: "u1", Limits: []checkLimit{limit, logLimit("hour", 10, window)}}.Packed())
			for i := 0; err == nil && i < len(r.Limits); i++ {
				err = fits(r.Limits[i].Allowed, r.Limits[i].Remaining, r.Limits[i].RetryAfter)
				if r.Allowed {
					err = nil
				}
			}
			return r.Allowed, err
		})
		if log != 10 || checked != 10 {
			t.Errorf("sliding_log admitted %d of 100 and check %d, want 10", log, checked)
		}
	})
}

// Mistake 10: a duplicate that renews its own entry. One receipt, sent each second, is counted once each window.
func TestMistake10_duplicateOfACheckRenewsItself(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		counted := 0
		for range 60 {
			r, err := c.Check(t.Context(), checkParams{Subject: "u1", Limits: []checkLimit{logLimit("a", 100, 10*time.Second)}, Receipt: "r1"}.Packed())
			if err != nil {
				t.Fatal(err)
			}
			if !r.Duplicate {
				counted++
			}
			s.Advance(t, time.Second)
		}
		if counted != 6 {
			t.Errorf("one receipt, sent each second for a minute, is counted %d times, want once each 10 s", counted)
		}
	})
}

// Mistake 11: the minute is charged before the hour refuses. Of 50 at once the hour admits 5, and the minute has lost 5.
func TestMistake11_noLimitIsChargedWhenAnotherRefuses(t *testing.T) {
	limiters.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		for _, kind := range []ratelimit.LimitKind{ratelimit.LimitKindSlidingLog, ratelimit.LimitKindSlidingCounter, ratelimit.LimitKindFixedWindow, ratelimit.LimitKindGCRA} {
			limits := []checkLimit{{Name: "minute", Kind: kind, Limit: 20, Window: 30 * day}, {Name: "hour", Kind: kind, Limit: 5, Window: 60 * day}}
			bucket := fcall.Subject(kind)
			admitted := atOnce(t, 50, func(ctx context.Context, _ int) (bool, error) {
				r, err := c.Check(ctx, checkParams{Subject: bucket, Limits: limits}.Packed())
				return r.Allowed, err
			})
			r, err := c.CheckPeek(t.Context(), checkParams{Subject: bucket, Limits: limits}.Peek())
			if err != nil {
				t.Fatal(err)
			}
			if admitted != 5 || r.Limits[0].Remaining != 15 || r.Limits[1].Remaining != 0 {
				t.Errorf("%s: %d of 50 admitted, and %+v left; want 5, 15 and 0", kind, admitted, r.Limits)
			}
		}
	})
}

// A subject's limits recognize a retry; a global limit counts every request.
func TestScenario_globalLimitsCountEveryRequest(t *testing.T) {
	limiters.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		global := checkLimit{Name: "all", Kind: ratelimit.LimitKindGCRA, Limit: 100, Window: 100 * time.Hour, Global: true}
		both := checkParams{
			Subject: "u1", Limits: []checkLimit{logLimit("minute", 1, time.Hour), global}, Of: []fcall.Subject{"u1", "global/all"}, Receipt: "click",
		}.Packed()
		once := atOnce(t, 20, func(ctx context.Context, _ int) (bool, error) {
			r, err := c.Check(ctx, both)
			if err == nil && !r.Allowed {
				err = fmt.Errorf("a retry is refused: %+v", r)
			}
			return !r.Duplicate, err
		})
		r, err := c.CheckPeek(t.Context(), checkParams{Subject: "global/all", Limits: []checkLimit{global}}.Peek())
		if err != nil || once != 1 || r.Limits[0].Remaining != 80 {
			t.Errorf("20 of one receipt cost the subject %d and left %+v %v of 100 of all subjects, want 1 and 80", once, r.Limits, err)
		}
	})
}

func TestScenario_doubleClickCostsEachLimitOnce(t *testing.T) {
	limiters.EachOnRealTime(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		counted := atOnce(t, 50, func(ctx context.Context, _ int) (bool, error) {
			r, err := c.Check(ctx, checkParams{Subject: "u1", Limits: suites.CheckLimits(3), Receipt: "fp:challenge-1:user", Dedup: time.Hour}.Packed())
			if err == nil && !r.Allowed {
				err = fmt.Errorf("refused: %+v", r)
			}
			return !r.Duplicate, err
		})
		if counted != 1 {
			t.Errorf("50 clicks are counted %d times", counted)
		}
	})
}

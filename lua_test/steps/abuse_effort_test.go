package steps_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// An attempt near a threshold of 10,000 is at most twice the work of one near 10, on every path, also after a time in which
// no caller came.
func TestAttempt_effortDoesNotGrowWithTheThreshold(t *testing.T) {
	suites.Guards.Each(t, func(t *testing.T, s *luatest.Server, c guarded) {
		attempts, requests := counted(t, s, abuse.Library.ServerName), counted(t, s, guard.Library.ServerName)
		s.Set(t, luatest.Start)
		asked := func() work { return attempts().atMost(requests()) } // a call is one of these libraries'
		small := attemptWork(t, s, c, asked, 10)
		threshold := int64(10_000)
		if suites.Slow || testing.Short() || s.Engine != "embedded" { // the same Lua asks for the same everywhere
			threshold = 1_000
		}
		large := attemptWork(t, s, c, asked, threshold)
		for path, most := range large {
			few := small[path]
			if strings.HasPrefix(path, "recorded") {
				few = few.atMost(small["recorded"])
			}
			// The embedded engine writes numbers in other texts.
			if most.commands > 2*few.commands || most.bytes > 2*few.bytes && s.Engine != "embedded" {
				t.Errorf("%s: %+v at threshold 10, %+v at %d", path, few, most, threshold)
			}
		}
		t.Logf("at threshold 10: %+v, %d: %+v", small, threshold, large)
	})
}

// attemptWork measures each path at a threshold, of several calls the greatest.
func attemptWork(t *testing.T, s *luatest.Server, c guarded, asked func() work, threshold int64) map[string]work {
	t.Helper()
	dearest, subject := map[string]work{}, fcall.Subject("")
	tiers := []attemptTier{{Threshold: threshold, Window: time.Hour, Block: time.Minute}}
	ctx := t.Context()
	begin := func(name string) { subject = fcall.Subject(name + time.Duration(threshold).String()) }
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	try := func() (abuse.AttemptResult, error) {
		return c.Abuse.Attempt(ctx, attemptParams{Subject: subject, Tiers: tiers})
	}
	fill := func(attempts int64) { tryOften(t, s, c, attemptParams{Subject: subject, Tiers: tiers}, attempts) }
	measure := func(path string, call func()) {
		asked()
		call()
		dearest[path] = dearest[path].atMost(asked())
	}
	recorded := func(path string) {
		measure(path, func() {
			r, err := try()
			if must(err); !r.Allowed {
				t.Errorf("%s: %+v", path, r)
			}
		})
	}
	look := func(path string) {
		measure("status"+path, func() {
			_, err := c.Abuse.Status(ctx, abuse.StatusParams{Subject: subject, Tiers: []abuse.StatusTiers{{Threshold: threshold, Window: time.Hour}}})
			must(err)
		})
		measure("guard.peek"+path, func() {
			_, err := c.Guard.Peek(ctx, guard.PeekParams{Subject: subject})
			must(err)
		})
	}

	begin("near")
	fill(max(threshold-27, 0))
	for range min(threshold-1, 26) {
		recorded("recorded")
	}
	look("")
	measure("starts a block", func() {
		r, err := try()
		if must(err); r.Reason != abuse.AttemptReasonTier {
			t.Errorf("starts a block: %+v", r)
		}
	})
	measure("blocked", func() {
		r, err := try()
		if must(err); r.Reason != abuse.AttemptReasonBlocked {
			t.Errorf("blocked: %+v", r)
		}
	})
	look(", blocked")
	s.Advance(t, time.Minute)
	for range min(threshold-1, 26) {
		recorded("recorded after a block")
	}
	measure("forgiven, with a strike", func() { _, err := c.Abuse.Forgive(ctx, abuse.ForgiveParams{Subject: subject}); must(err) })
	measure("pardoned", func() {
		_, err := c.Abuse.Unblock(ctx, abuse.UnblockParams{Subject: subject, Pardon: true})
		must(err)
	})

	begin("idle")
	fill(threshold / 2)
	s.Advance(t, 30*time.Minute)
	fill(threshold/2 - 1)
	s.Advance(t, 30*time.Minute)
	for range 26 {
		recorded("recorded after half has left the window")
		if threshold == 10 {
			s.Advance(t, 10*time.Minute)
		}
	}
	s.Advance(t, time.Hour-time.Microsecond)
	recorded("recorded after all but a few have left it")

	begin("admit")
	fill(max(threshold-27, 0))
	for range min(threshold-1, 26) {
		measure("guard.admit", func() {
			r, err := c.Guard.Admit(ctx, admitParams{Subject: subject, Tiers: []guard.AdmitTiers{guard.AdmitTiers(tiers[0])}}.Packed())
			if must(err); !r.Allowed {
				t.Errorf("guard.admit: %+v", r)
			}
		})
	}
	measure("forgiven", func() { _, err := c.Abuse.Forgive(ctx, abuse.ForgiveParams{Subject: subject}); must(err) })
	return dearest
}

// tryOften makes attempts, many in a round trip.
func tryOften(t *testing.T, s *luatest.Server, c guarded, p attemptParams, attempts int64) {
	t.Helper()
	for attempts > 0 {
		many := min(attempts, 1_000)
		attempts -= many
		if _, err := s.Redis.Pipelined(t.Context(), func(pipe redis.Pipeliner) error { return queueMany(t.Context(), c, pipe, p, many) }); err != nil {
			t.Fatal(err)
		}
	}
}

func queueMany(ctx context.Context, c guarded, pipe redis.Pipeliner, p attemptParams, many int64) error {
	for range many {
		c.Abuse.QueueAttempt(ctx, pipe, p)
	}
	return nil
}

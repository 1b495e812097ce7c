package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestAdmit_allLimitsOrNone(t *testing.T) {
	limits := []admitLimit{perLog("minute", 2, time.Minute), perLog("hour", 3, time.Hour)}
	take := admit(admitParams{Limits: limits})
	minute, hour := guardKey("sliding_log:minute"), guardKey("sliding_log:hour")
	suites.Guards.Run(
		t,
		guardStep{Name: "first use", Call: take, Writes: true, TTLs: ttls{minute: time.Minute, hour: time.Hour}, Want: passes(
			admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute},
			admitRow{Allowed: true, Remaining: 2, ResetAfter: time.Hour},
		)},
		guardStep{Name: "exactly the minute's limit", Call: take, Writes: true, Want: passes(
			admitRow{Allowed: true, ResetAfter: time.Minute},
			admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Hour},
		)},
		guardStep{Name: "the minute refuses, the hour is not charged", Call: take, Want: stops(
			time.Minute,
			admitRow{RetryAfter: time.Minute, ResetAfter: time.Minute},
			admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Hour},
		)},
		guardStep{Name: "one tick sooner", Advance: time.Minute - time.Microsecond, Call: take, Want: stops(
			time.Microsecond,
			admitRow{RetryAfter: time.Microsecond, ResetAfter: time.Microsecond},
			admitRow{Allowed: true, Remaining: 1, ResetAfter: 59*time.Minute + time.Microsecond},
		)},
		guardStep{Name: "at retry_after", Advance: time.Microsecond, Call: take, Writes: true, Want: passesAt(
			time.Minute,
			admitRow{Allowed: true, Remaining: 1, ResetAfter: time.Minute},
			admitRow{Allowed: true, ResetAfter: time.Hour},
		)},
	)
}

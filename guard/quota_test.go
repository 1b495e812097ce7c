package guard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
	"github.com/rlfunc/rlfunc/guard/policy"
)

var monthly = policy.Limit{Name: "month", Kind: policy.Quota, Limit: 2, Every: policy.Month, Zone: "Europe/Berlin"}

var asAda = guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}

func TestDecide_quotaByTheCalendar(t *testing.T) {
	rdb, clock := inProcess(t)
	o := guard.Options{CacheSize: -1}.WithLocalClock(clock)
	g := newGuard(t, rdb, chat(monthly), o)
	april := time.Date(2026, 3, 31, 22, 0, 0, 0, time.UTC)
	state := guard.LimitState{
		Name: "month", Endpoint: "chat", Subject: "ip=ada", Kind: policy.Quota, Limit: 2, Window: 31*24*time.Hour - time.Hour,
		Allowed: true, Remaining: 1, ResetAfter: april.Sub(moment),
	}
	check := func(name string, want guard.LimitState) {
		t.Helper()
		if diff := cmp.Diff([]guard.LimitState{want}, decide(t, g, asAda).Limits); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	check("the first in March, which is an hour short in Berlin", state)
	state.Remaining = 0
	check("the second", state)
	state.Allowed, state.RetryAfter = false, state.ResetAfter
	check("the third", state)
	clock.Set(april.Add(-time.Microsecond))
	state.ResetAfter, state.RetryAfter = time.Microsecond, time.Microsecond
	check("a microsecond before April", state)
	clock.Set(april)
	state.Allowed, state.Remaining, state.RetryAfter = true, 1, 0
	state.Window, state.ResetAfter = 30*24*time.Hour, 30*24*time.Hour
	check("in April", state)
}

// The clock of this process is wrong, and Redis decides.
func TestDecide_quotaWithAWrongClock(t *testing.T) {
	rdb, clock := inProcess(t)
	hourly := policy.Limit{Name: "hour", Kind: policy.Quota, Limit: 2, Every: policy.Hour, OnFailure: policy.Closed}
	guards := map[string]*guard.Guard{}
	for name, off := range map[string]time.Duration{"right": 0, "ahead": time.Hour, "behind": -time.Hour, "far behind": -3 * time.Hour} {
		guards[name] = newGuard(t, rdb, chat(hourly), guard.Options{CacheSize: -1}.WithLocalClock(embedded.NewManualClock(moment.Add(off))))
	}
	clock.Set(moment.Add(20 * time.Minute))
	for _, name := range []string{"ahead", "behind"} {
		if d := decide(t, guards[name], asAda); !d.Allowed || d.Limits[0].ResetAfter != 40*time.Minute {
			t.Errorf("by a clock that is an hour %s: %+v", name, d)
		}
	}
	for _, name := range []string{"right", "ahead", "behind"} {
		if d := decide(t, guards[name], asAda); d.Allowed || d.RetryAfter != 40*time.Minute {
			t.Errorf("a full hour, by the clock that is %s: %+v", name, d)
		}
	}
	_, err := guards["far behind"].Decide(t.Context(), asAda)
	if !errors.Is(err, guard.ErrUnavailable) || !strings.Contains(err.Error(), "after must be after the server's time") {
		t.Errorf("by a clock that is three hours behind: %v", err)
	}
}

// Redis cannot decide a quota for a clock that is wrong by more than a period, so the failure mode does. The breaker stays closed.
func TestDecide_quotaWithAClockThatIsFarOff(t *testing.T) {
	rdb, _ := inProcess(t)
	for _, off := range []time.Duration{3 * time.Hour, -3 * time.Hour} {
		for mode, want := range map[policy.OnFailure]guard.Fallback{policy.Open: guard.FallbackOpen, policy.Local: guard.FallbackLocal} {
			hourly := policy.Limit{Name: "hour", Kind: policy.Quota, Limit: 8, Every: policy.Hour, OnFailure: mode}
			g := newGuard(t, rdb, chat(hourly), guard.Options{CacheSize: -1, BreakAfter: 1}.WithLocalClock(embedded.NewManualClock(moment.Add(off))))
			for i := range 4 {
				d := decide(t, g, asAda)
				if d.Fallback != want || !errors.Is(d.Cause, fcall.ErrArgument) || d.Allowed != (mode == policy.Open || i < 2) /* a quarter of 8 */ {
					t.Errorf("%s, clock off by %s, request %d: %+v", mode, off, i+1, d)
				}
			}
		}
	}
}

func TestDecide_quotaInThisProcess(t *testing.T) {
	clock := embedded.NewManualClock(moment)
	limit := monthly
	limit.OnFailure, limit.Share = policy.Local, 0.5
	g := newGuard(t, client(t, closedPort(t)), chat(limit), guard.Options{BreakAfter: 1, BreakFor: time.Hour, CacheSize: -1}.WithLocalClock(clock))
	if d := decide(t, g, asAda); !d.Allowed {
		t.Errorf("the first: %+v", d)
	}
	end := time.Date(2026, 3, 31, 22, 0, 0, 0, time.UTC).Sub(moment)
	if d := decide(t, g, asAda); d.Allowed || d.RetryAfter != end {
		t.Errorf("the second of half of 2: %+v", d)
	}
	clock.Advance(end)
	if d := decide(t, g, asAda); !d.Allowed {
		t.Errorf("the first in April: %+v", d)
	}
}

func TestDecide_quotaHeadersSayWhenThePeriodEnds(t *testing.T) {
	rdb, clock := inProcess(t)
	g := newGuard(t, rdb, chat(policy.Limit{Name: "day", Kind: policy.Quota, Limit: 2, Every: policy.Day}), guard.Options{}.WithLocalClock(clock))
	limits, policies := web.RateLimit(decide(t, g, asAda))
	if limits != `"day";r=1;t=43200` || policies != `"day";q=2;w=86400` {
		t.Errorf("got %s and %s", limits, policies)
	}
}

package steps_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// perPlaces is a limit of requests at the same time, with a lease of 10 s.
func perPlaces(limit int64) admitLimit {
	return admitLimit{Name: "streams", Kind: guard.LimitKindConcurrency, Limit: limit, Window: 10 * time.Second}
}

// placed is a call of a holder.
func placed(holder string, limits ...admitLimit) func(context.Context, guarded) (any, error) {
	return admit(admitParams{Limits: limits, Holder: holder})
}

func renewPlaces(holder string, limits ...admitLimit) func(context.Context, guarded) (any, error) {
	return by(suites.GuardOf, (*guard.Client).Renew, guard.RenewParams{Subject: "u1", Limits: guard.PackLimit(limits...), Holder: holder})
}

func releasePlaces(holder string, limits ...admitLimit) func(context.Context, guarded) (any, error) {
	return by(suites.GuardOf, (*guard.Client).Release, guard.ReleaseParams{Subject: "u1", Limits: guard.PackLimit(limits...), Holder: holder})
}

// leaves releases the places of a holder, and marks it if it lacks one.
func leaves(holder string, mark time.Duration, limits ...admitLimit) func(context.Context, guarded) (any, error) {
	return by(suites.GuardOf, (*guard.Client).Release, guard.ReleaseParams{Subject: "u1", Limits: guard.PackLimit(limits...), Holder: holder, Mark: mark})
}

// inPlace is the row of a call that has its places for 10 s.
func inPlace(remaining int64) admitRow {
	return admitRow{Allowed: true, Remaining: remaining, ResetAfter: 10 * time.Second}
}

func noPlace(wait time.Duration) admitRow { return admitRow{RetryAfter: wait} }

var released = guard.ReleaseResult{Released: 1}

// A repeat of a receipt holds a place of its own, while its first call may still be running: otherwise as many would run at once as repeats pass.
func TestAdmit_aRepeatHoldsAPlace(t *testing.T) {
	two, minute := perPlaces(2), perLog("minute", 1, time.Minute)
	ask := func(holder string) func(context.Context, guarded) (any, error) {
		return admit(admitParams{Receipt: "r", Limits: []admitLimit{two, minute}, Holder: holder})
	}
	counted := admitRow{Allowed: true, ResetAfter: time.Minute}
	again := func(r admitResult) admitResult {
		r.Duplicate = true
		return r
	}
	suites.Guards.Run(
		t,
		guardStep{Call: ask("a"), Writes: true, Want: passes(inPlace(1), counted)},
		guardStep{Name: "a repeat", Call: ask("b"), Writes: true, Want: again(passes(inPlace(0), counted))},
		guardStep{Name: "one too many", Call: ask("c"), Want: again(stops(10*time.Second, noPlace(10*time.Second), counted))},
		guardStep{Call: releasePlaces("b", two), Writes: true, Want: released},
		guardStep{Name: "its place is free", Call: ask("c"), Writes: true, Want: again(passes(inPlace(0), counted))},
		guardStep{Name: "given back are the places of a repeat", Call: refund(suites.RefundParams{Limits: []admitLimit{two, minute}, Left: []time.Duration{10 * time.Second, 0}, At: luatest.Start, Holder: "c"}), Writes: true, Want: given},
		guardStep{Call: ask("d"), Writes: true, Want: again(passes(inPlace(0), counted))},
	)
}

// A call whose holder has been marked may have come late: it is refused before anything is looked at, and takes nothing.
func TestRelease_marksAHolderWithoutItsPlaces(t *testing.T) {
	one, other := perPlaces(1), perPlaces(1)
	other.Name = "others"
	all, _ := everything()
	all.Holder, all.Limits = "a", append(all.Limits, one)
	left, places := guardKey("left:a"), guardKey("concurrency:10000000:streams")
	kept := time.Hour + 10*time.Second
	suites.Guards.Run(
		t,
		guardStep{Name: "nothing is held", Call: leaves("a", time.Minute, one), Writes: true, Want: guard.ReleaseResult{}, TTLs: ttls{left: time.Minute}},
		guardStep{Name: "its call comes late", Call: placed("a", one), WantErr: fcall.ErrArgument},
		guardStep{Name: "and asks for all that there is", Call: admit(all), WantErr: fcall.ErrArgument},
		guardStep{Name: "and for nothing", Call: placed("a"), WantErr: fcall.ErrArgument},
		guardStep{Name: "a call without a holder", Call: admit(admitParams{}), Want: passes()},
		guardStep{Name: "another holder", Call: placed("b", one), Writes: true, Want: passesAt(0, inPlace(0)), TTLs: ttls{left: time.Minute, places: kept}},
		guardStep{Name: "it has its place, and is not marked", Call: leaves("b", time.Minute, one), Writes: true, Want: released, TTLs: ttls{left: time.Minute}},
		guardStep{Name: "so it may come again", Call: placed("b", one), Writes: true, Want: passesAt(0, inPlace(0))},
		guardStep{Name: "one of two is missing", Call: leaves("b", time.Second, one, other), Writes: true, Want: released, TTLs: ttls{left: time.Minute, guardKey("left:b"): time.Second}},
		guardStep{Name: "which marks it", Call: placed("b", other), WantErr: fcall.ErrArgument},
		guardStep{Name: "without a mark", Call: releasePlaces("c", one), Want: guard.ReleaseResult{}},
		guardStep{Name: "none is made", Call: placed("c", one), Writes: true, Want: passesAt(0, inPlace(0))},
		guardStep{Call: by(suites.AbuseOf, (*abuse.Client).Block, abuse.BlockParams{Subject: "u1", Duration: time.Second}), Writes: true, Want: abuse.BlockResult{Applied: true, RetryAfter: time.Second}},
		guardStep{Name: "a block comes after the mark", Call: placed("a", one), WantErr: fcall.ErrArgument},
		guardStep{Name: "and before others", Call: placed("c", one), Want: suites.Answered(admitResult{Reason: "blocked", RetryAfter: time.Second})},
		guardStep{Name: "the key's last millisecond", Advance: time.Minute, Call: placed("a", one), WantErr: fcall.ErrArgument},
		guardStep{Name: "forgotten with its key", Advance: time.Millisecond, Call: placed("a", one), Writes: true, Want: passesAt(time.Minute+time.Millisecond, inPlace(0))},
	)
}

func TestRelease_marksExpireOnRealTime(t *testing.T) {
	suites.Guards.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, g guarded) {
		s.CheckTTLs(t, map[string]time.Duration{guardKey("left:1m0s"): time.Minute, guardKey("left:1h0m0s"): time.Hour, guardKey("left:1s"): time.Second}, func() {
			s.Do(t, "FLUSHDB")
			for _, length := range []time.Duration{time.Minute, time.Hour, time.Second} {
				if _, err := leaves(length.String(), length, perPlaces(1))(t.Context(), g); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

func TestPlaces_rejectedArguments(t *testing.T) {
	short, long, log := perPlaces(1), perPlaces(1), perLog("hour", 5, time.Hour)
	short.Window, long.Window = time.Millisecond-time.Microsecond, day+time.Microsecond
	burst := perPlaces(1)
	burst.Burst = 1
	large := perPlaces(1_000_001)
	var steps []guardStep
	for name, call := range map[string]func(context.Context, guarded) (any, error){
		"no holder":         placed("", perPlaces(1)),
		"a long holder":     placed(strings.Repeat("x", 65), perPlaces(1)),
		"a short lease":     placed("a", short),
		"a long lease":      placed("a", long),
		"a burst":           placed("a", burst),
		"a large limit":     placed("a", large),
		"twice the same":    placed("a", perPlaces(1), perPlaces(2)),
		"renewed log":       by(suites.GuardOf, (*guard.Client).Renew, guard.RenewParams{Subject: "u1", Limits: guard.PackLimit(log), Holder: "a"}),
		"released log":      by(suites.GuardOf, (*guard.Client).Release, guard.ReleaseParams{Subject: "u1", Limits: guard.PackLimit(log), Holder: "a"}),
		"a short mark":      leaves("a", time.Millisecond-time.Microsecond, perPlaces(1)),
		"a long mark":       leaves("a", time.Hour+time.Microsecond, perPlaces(1)),
		"tokens in batches": takeOf(3, perPlaces(5)),
	} {
		steps = append(steps, guardStep{Name: name, Call: call, WantErr: fcall.ErrArgument})
	}
	suites.Guards.Run(t, steps...)
}

// Library ratelimit has no holders: it only looks at places, and resets them.
func TestCheck_looksAtPlaces(t *testing.T) {
	places := ratelimit.PackLimit(ratelimit.Limit{Name: "streams", Kind: ratelimit.LimitKindConcurrency, Limit: 2, Window: time.Second})
	look := func(ctx context.Context, c *ratelimit.Client) (any, error) {
		r, err := c.Check(ctx, ratelimit.CheckParams{Subject: "u1", Limits: places, Look: true})
		r.At = time.Time{}
		return r, err
	}
	limiters.Run(
		t,
		step{Call: luatest.Call((*ratelimit.Client).Check, ratelimit.CheckParams{Subject: "u1", Limits: places}), WantErr: fcall.ErrArgument},
		step{Call: look, Want: checkResult{Allowed: true, Limits: []checkRow{{Allowed: true, Remaining: 2}}}},
		step{Call: luatest.Call((*ratelimit.Client).Reset, ratelimit.ResetParams{Subject: "u1", Limits: places}), Want: ratelimit.ResetResult{}},
	)
}

func TestPlaces_unreadableStateIsReportedAndKept(t *testing.T) {
	name := guardKey("concurrency:10000000:streams")
	var steps []guardStep
	for what, content := range map[string][]string{"another type": {"LPUSH", name, "x"}, "a text": {"SET", name, "x"}} {
		given := func(t testing.TB, s *luatest.Server) {
			s.Do(t, "DEL", name)
			s.Do(t, content[0], content[1], content[2])
			s.Expire(t, name, time.Hour)
		}
		steps = append(
			steps,
			guardStep{Name: what, Given: given, Call: placed("a", perLog("hour", 5, time.Hour), perPlaces(1)), WantErr: fcall.ErrState},
			guardStep{Call: renewPlaces("a", perPlaces(1)), WantErr: fcall.ErrState},
			guardStep{Call: releasePlaces("a", perPlaces(1)), WantErr: fcall.ErrState},
			guardStep{Call: refund(suites.RefundParams{Limits: []admitLimit{perPlaces(1)}, Holder: "a", Left: []time.Duration{time.Second}}), WantErr: fcall.ErrState},
		)
	}
	suites.Guards.Run(t, steps...)
}

package steps_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	overrideStep = luatest.Step[*override.Client]
	overrideRow  = override.ListOverridesResult
)

const (
	overrideKey = "rl:{all}:overrides"
	startUS     = 1767323045678901
)

func setOverride(subject string, effect override.SetEffect, factor int64, holds time.Duration) func(context.Context, *override.Client) (any, error) {
	return luatest.Call((*override.Client).Set, override.SetParams{
		Subject: "all", Target: subject, Effect: effect, Factor: factor, Duration: holds, By: "ann@host", Reason: "ticket 811",
	})
}

func clearOverride(subject string) func(context.Context, *override.Client) (any, error) {
	return luatest.Call((*override.Client).Clear, override.ClearParams{Subject: "all", Target: subject})
}

func listOverrides(known *int64) func(context.Context, *override.Client) (any, error) {
	return luatest.Call((*override.Client).List, override.ListParams{Subject: "all", Known: known})
}

func wasSet(replaced bool, at, holds time.Duration, n int64) override.SetResult {
	now := luatest.Start.Add(at)
	return override.SetResult{Replaced: replaced, Version: now.UnixMicro(), Ends: now.Add(holds), Overrides: n}
}

func overrideOf(subject, effect string, factor int64, at, holds, left time.Duration) overrideRow {
	return overrideRow{
		Subject: subject, Effect: override.ListOverridesEffect(effect), Factor: factor, Left: left, Ends: luatest.Start.Add(at + holds), Set: luatest.Start.Add(at), By: "ann@host", Reason: "ticket 811",
	}
}

func TestOverride_holdsToItsEnd(t *testing.T) {
	const version = startUS + 2_000_000
	both := override.ListResult{Changed: true, Version: version, Overrides: []overrideRow{
		overrideOf("ip=203.0.113.0/24", "deny", 1, 2*time.Second, time.Minute, time.Minute), overrideOf("user=42", "multiply", 10, time.Second, time.Hour, time.Hour-time.Second),
	}}
	one := override.ListResult{Changed: true, Version: version, Overrides: []overrideRow{overrideOf("user=42", "multiply", 10, time.Second, time.Hour, 59*time.Minute-time.Second)}}
	overrides.Run(
		t,
		overrideStep{Name: "none", Call: listOverrides(nil), Want: override.ListResult{Changed: true, Overrides: []overrideRow{}}},
		overrideStep{Name: "none is known", Call: listOverrides(new(int64(0))), Want: override.ListResult{Overrides: []overrideRow{}}},
		overrideStep{Name: "nothing to clear", Call: clearOverride("user=42"), Want: override.ClearResult{}},
		overrideStep{
			Name: "first use", Advance: time.Second, Call: setOverride("user=42", "multiply", 10, time.Hour), Writes: true,
			TTLs: ttls{overrideKey: time.Hour}, Want: wasSet(false, time.Second, time.Hour, 1),
		},
		overrideStep{
			Name: "the key outlives none of them", Advance: time.Second, Call: setOverride("ip=203.0.113.0/24", "deny", 0, time.Minute), Writes: true,
			TTLs: ttls{overrideKey: time.Hour - time.Second}, Want: wasSet(false, 2*time.Second, time.Minute, 2),
		},
		overrideStep{Name: "listed by subject", Call: listOverrides(nil), Want: both},
		overrideStep{Name: "another version is known", Call: listOverrides(new(int64(version - 1))), Want: both},
		overrideStep{Name: "nothing has changed", Call: listOverrides(new(int64(version))), Want: override.ListResult{Version: version, Overrides: []overrideRow{}}},
		overrideStep{Name: "a moment before the end", Advance: time.Minute - time.Microsecond, Call: listOverrides(nil), Want: override.ListResult{
			Changed: true, Version: version, Overrides: []overrideRow{
				overrideOf("ip=203.0.113.0/24", "deny", 1, 2*time.Second, time.Minute, time.Microsecond),
				overrideOf("user=42", "multiply", 10, time.Second, time.Hour, 59*time.Minute-time.Second+time.Microsecond),
			},
		}},
		overrideStep{Name: "the end", Advance: time.Microsecond, Call: listOverrides(nil), Want: one},
		overrideStep{Name: "an expiry does not change the version", Call: listOverrides(new(int64(version))), Want: override.ListResult{Version: version, Overrides: []overrideRow{}}},
		overrideStep{Name: "what is over was not there, and goes", Call: clearOverride("ip=203.0.113.0/24"), Writes: true, Want: override.ClearResult{Overrides: 1}},
		overrideStep{Name: "it is gone", Call: clearOverride("ip=203.0.113.0/24"), Want: override.ClearResult{Overrides: 1}},
		overrideStep{
			Name: "a shorter one in its place", Call: setOverride("user=42", "allow", 0, time.Second), Writes: true, TTLs: ttls{overrideKey: time.Second},
			Want: override.SetResult{
				Replaced: true, Version: version + 60_000_001, Ends: luatest.Start.Add(time.Minute + 3*time.Second), Overrides: 1, // the clear was at the same time
			},
		},
		overrideStep{Name: "the last is cleared", Call: clearOverride("user=42"), Writes: true, TTLs: ttls{}, Want: override.ClearResult{Existed: true}},
		overrideStep{Name: "the longest", Call: setOverride("user=42", "allow", 0, 3650*day), Writes: true, TTLs: ttls{overrideKey: 3650 * day}, Want: wasSet(false, time.Minute+2*time.Second, 3650*day, 1)},
		overrideStep{Name: "long idle", Advance: 3651 * day, Call: listOverrides(nil), Want: override.ListResult{Changed: true, Overrides: []overrideRow{}}},
		overrideStep{Name: "nothing is left of it", Call: setOverride("user=1", "allow", 0, time.Millisecond), Writes: true, Want: wasSet(false, 3651*day+time.Minute+2*time.Second, time.Millisecond, 1)},
		overrideStep{Call: luatest.Call((*override.Client).Clear, override.ClearParams{Subject: "all", All: true}), Writes: true, TTLs: ttls{}, Want: override.ClearResult{Existed: true}},
		overrideStep{Call: luatest.Call((*override.Client).Clear, override.ClearParams{Subject: "all", All: true}), Want: override.ClearResult{}},
	)
}

// A top-up has a budget, and each budget of a subject has one beside the subject's other override.
func TestOverride_topUps(t *testing.T) {
	add := func(budget, unit string, amount fcall.Micros, ends time.Duration) override.SetParams {
		return override.SetParams{
			Subject: "all", Target: "org=acme", Effect: override.SetEffectAdd, Budget: budget, Unit: unit, Amount: amount, Duration: day, Next: luatest.Start.Add(ends),
			By: "ann@host", Reason: "ticket 811",
		}
	}
	set := func(p override.SetParams) func(context.Context, *override.Client) (any, error) {
		return luatest.Call((*override.Client).Set, p)
	}
	topUp := func(budget, unit string, amount fcall.Micros, at, ends time.Duration) overrideRow {
		row := overrideOf("org=acme", "add", 1, at, ends-at, ends-2*time.Second)
		row.Budget, row.Unit, row.Amount = budget, unit, amount
		return row
	}
	clear := func(budget string) func(context.Context, *override.Client) (any, error) {
		return luatest.Call((*override.Client).Clear, override.ClearParams{Subject: "all", Target: "org=acme", Budget: budget})
	}
	factor, next := add("month", "", 0, time.Hour), add("", "", 0, time.Hour)
	factor.Effect, factor.Next, next.Effect = override.SetEffectMultiply, time.Time{}, override.SetEffectMultiply
	overrides.Run(
		t,
		overrideStep{Name: "no budget", Call: set(add("", "", 5, time.Hour)), WantErr: fcall.ErrArgument},
		overrideStep{Name: "no amount", Call: set(add("month", "", 0, time.Hour)), WantErr: fcall.ErrArgument},
		overrideStep{Name: "a budget without a top-up", Call: set(factor), WantErr: fcall.ErrArgument},
		overrideStep{Name: "a period without a top-up", Call: set(next), WantErr: fcall.ErrArgument},
		overrideStep{Name: "a period that has ended", Call: set(add("month", "", 5, 0)), WantErr: fcall.ErrArgument},
		overrideStep{
			Name: "until the next period", Call: set(add("month", "", 5, time.Hour)), Writes: true, TTLs: ttls{overrideKey: time.Hour},
			Want: wasSet(false, 0, time.Hour, 1),
		},
		overrideStep{
			Name: "of another budget", Advance: time.Second, Call: set(add("day", "tokens", 1_000_000_000_000_000, time.Hour)), Writes: true,
			Want: wasSet(false, time.Second, time.Hour-time.Second, 2),
		},
		overrideStep{
			Name: "a factor beside them", Call: setOverride("org=acme", "multiply", 2, time.Hour), Writes: true,
			Want: override.SetResult{Version: startUS + 1_000_001, Ends: luatest.Start.Add(time.Hour + time.Second), Overrides: 3},
		},
		overrideStep{
			Name: "in place of that of the budget", Advance: time.Second, Call: set(add("month", "", 7, time.Hour)), Writes: true,
			Want: wasSet(true, 2*time.Second, time.Hour-2*time.Second, 3),
		},
		overrideStep{Name: "by subject and budget", Call: listOverrides(nil), Want: override.ListResult{Changed: true, Version: startUS + 2_000_000, Overrides: []overrideRow{
			overrideOf("org=acme", "multiply", 2, time.Second, time.Hour, time.Hour-time.Second), topUp("day", "tokens", 1_000_000_000_000_000, time.Second, time.Hour),
			topUp("month", "", 7, 2*time.Second, time.Hour),
		}}},
		overrideStep{Name: "that of another budget", Call: clear("year"), Want: override.ClearResult{Overrides: 3}},
		overrideStep{Name: "that of a budget", Call: clear("month"), Writes: true, Want: override.ClearResult{Existed: true, Overrides: 2}},
		overrideStep{Name: "all of the subject", Call: clear(""), Writes: true, TTLs: ttls{}, Want: override.ClearResult{Existed: true}},
	)
}

func TestOverride_versionGrowsWhenTheClockGoesBack(t *testing.T) {
	overrides.Run(
		t,
		overrideStep{Call: setOverride("user=1", "allow", 0, time.Hour), Writes: true, Want: wasSet(false, 0, time.Hour, 1)},
		overrideStep{
			Name: "the same moment", Call: setOverride("user=2", "deny", 0, time.Minute), Writes: true,
			Want: override.SetResult{Version: startUS + 1, Ends: luatest.Start.Add(time.Minute), Overrides: 2},
		},
		overrideStep{
			Name: "two hours back", Advance: -2 * time.Hour, Call: setOverride("user=2", "deny", 0, time.Minute), Writes: true,
			Want: override.SetResult{Replaced: true, Version: startUS + 2, Ends: luatest.Start.Add(-2*time.Hour + time.Minute), Overrides: 2},
		},
		overrideStep{Name: "has no more left than it was set for", Call: listOverrides(nil), Want: override.ListResult{Changed: true, Version: startUS + 2, Overrides: []overrideRow{
			overrideOf("user=1", "allow", 1, 0, time.Hour, time.Hour), overrideOf("user=2", "deny", 1, -2*time.Hour, time.Minute, time.Minute),
		}}},
		overrideStep{Name: "far ahead", Advance: 1000 * day, Call: listOverrides(nil), Want: override.ListResult{Changed: true, Overrides: []overrideRow{}}},
	)
}

func TestOverride_arguments(t *testing.T) {
	overrides.Run(
		t,
		overrideStep{Name: "nothing to clear is named", Call: clearOverride(""), WantErr: fcall.ErrArgument},
		overrideStep{Name: "smallest", Call: setOverride("u", "multiply", 0, time.Millisecond), Writes: true, Want: wasSet(false, 0, time.Millisecond, 1)},
		overrideStep{Name: "a factor without multiply", Advance: time.Second, Call: setOverride("user=1", "allow", 2, time.Hour), Writes: true, Want: wasSet(false, time.Second, time.Hour, 1)},
		overrideStep{Call: listOverrides(nil), Want: override.ListResult{Changed: true, Version: startUS + 1_000_000, Overrides: []overrideRow{
			overrideOf("user=1", "allow", 1, time.Second, time.Hour, time.Hour),
		}}},
	)
}

func TestOverride_atMostAThousand(t *testing.T) {
	full := func(t testing.TB, s *luatest.Server) {
		words := []any{"HSET", overrideKey, "", int64(startUS)}
		for i := range 1000 {
			ends := int64(startUS + 3_600_000_000)
			if i == 7 {
				ends = startUS + 60_000_000
			}
			words = append(words, fmt.Sprintf("0 user=%d", i), fmt.Sprintf("allow 1 %d %d 1 0 ab", ends, int64(startUS)))
		}
		s.Do(t, words...)
		s.Expire(t, overrideKey, time.Hour)
	}
	add, isFull := setOverride("user=2000", "allow", 0, time.Hour), &fcall.CodeError{Code: "RLFULL"}
	overrides.Run(
		t,
		overrideStep{Name: "one more", Given: full, Call: add, WantErr: isFull},
		overrideStep{
			Name: "one in the place of another", Call: setOverride("user=3", "deny", 0, time.Hour), Writes: true,
			Want: override.SetResult{Replaced: true, Version: startUS + 1, Ends: luatest.Start.Add(time.Hour), Overrides: 1000},
		},
		overrideStep{Name: "one is over", Advance: time.Minute, Call: setOverride("user=1000", "allow", 0, time.Hour), Writes: true, Want: wasSet(false, time.Minute, time.Hour, 1000)},
		overrideStep{Name: "the one that is over is gone", Call: add, WantErr: isFull},
		overrideStep{Name: "no field is left behind", Given: func(t testing.TB, s *luatest.Server) {
			if n := s.Redis.HLen(t.Context(), overrideKey).Val(); n != 1001 {
				t.Errorf("%d fields", n)
			}
		}},
	)
}

func TestOverride_unreadableIsReportedAndKept(t *testing.T) {
	const us, later = "1767323045678901", "1767323345678901"
	var steps []overrideStep
	for _, stored := range []struct{ field, text string }{
		{"0 user=1", ""},
		{"0 user=1", "x"},
		{"0 user=1", "allow"},
		{"0 user=1", "allow 1 " + later + " " + us + " 1 0 a"},                // no reason
		{"0 user=1", "allow 1 " + us + " " + us + " 1 0 ab"},                  // ends when it was set
		{"0 user=1", "Allow 1 " + later + " " + us + " 1 0 ab"},               // no effect
		{"0 user=1", "lift 1 " + later + " " + us + " 1 0 ab"},                // another effect
		{"0 user=1", "multiply 1000001 " + later + " " + us + " 1 0 ab"},      // too great a factor
		{"0 user=1", "multiply 0 " + later + " " + us + " 1 0 ab"},            // none
		{"0 user=1", "allow 1 nan " + us + " 1 0 ab"},                         // no end
		{"0 user=1", "allow 1 " + later + " " + us + " 0 0 ab"},               // nobody set it
		{"0 user=1", "allow 1 99999999999999999999 " + us + " 1 0 ab"},        // no time
		{"0 user=1", "allow 1 " + later + " " + us + " 1 1 ab"},               // the unit takes the reason
		{"0 user=1", "allow -1 " + later + " " + us + " 1 0 ab"},              // a sign
		{"0 user=1", "add 1 " + later + " " + us + " 1 0 ab"},                 // no budget
		{"1 muser=1", "allow 1 " + later + " " + us + " 1 0 ab"},              // a budget, and no top-up
		{"1 muser=1", "add 1000000000000001 " + later + " " + us + " 1 0 ab"}, // too great an amount
		{"7 muser=1", "add 1 " + later + " " + us + " 1 0 ab"},                // no subject
		{"user=1", "allow 1 " + later + " " + us + " 1 0 ab"},                 // a field without a length
	} {
		given := func(t testing.TB, s *luatest.Server) {
			s.Do(t, "DEL", overrideKey)
			s.Do(t, "HSET", overrideKey, "", us, stored.field, stored.text)
			s.Expire(t, overrideKey, time.Hour)
		}
		steps = append(
			steps,
			overrideStep{Name: stored.field + ": " + stored.text, Given: given, Call: listOverrides(nil), WantErr: fcall.ErrState},
			overrideStep{Call: setOverride("user=2", "allow", 0, time.Minute), WantErr: fcall.ErrState},
			overrideStep{Call: clearOverride("user=2"), WantErr: fcall.ErrState},
		)
	}
	version := func(t testing.TB, s *luatest.Server) {
		s.Do(t, "HSET", overrideKey, "", "new", "0 user=1", "allow 1 "+later+" "+us+" 1 0 ab")
	}
	overrides.Run(t, append(
		steps,
		overrideStep{Name: "a version", Given: version, Call: listOverrides(nil), WantErr: fcall.ErrState},
		overrideStep{Call: setOverride("user=2", "allow", 0, time.Minute), WantErr: fcall.ErrState},
		overrideStep{Name: "all can be cleared", Call: luatest.Call((*override.Client).Clear, override.ClearParams{Subject: "all", All: true}), Writes: true, Want: override.ClearResult{Existed: true}},
	)...)
	overrides.Each(t, func(t *testing.T, s *luatest.Server, c *override.Client) {
		wrongType(overrideKey)(t, s)
		for what, call := range map[string]func(ctxOf, *override.Client) (any, error){
			"set": setOverride("user=1", "allow", 0, time.Hour), "clear": clearOverride("user=1"), "list": listOverrides(nil),
		} {
			var state *fcall.StateError
			if _, err := call(t.Context(), c); !errors.As(err, &state) || state.Problem != "holds a set, not a hash" {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

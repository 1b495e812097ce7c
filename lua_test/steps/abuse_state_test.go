package steps_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// holds puts a text where a key is; a ttl of 0 is none.
func holds(name, text string, ttl time.Duration) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "SET", name, text)
		if ttl > 0 {
			s.Expire(t, name, ttl)
		}
	}
}

func removes(name string) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) { s.Do(t, "DEL", name) }
}

func TestAbuse_unreadableIsReportedAndKept(t *testing.T) {
	tiers := []attemptTier{{Threshold: 2, Window: time.Minute, Block: time.Minute}, {Threshold: 3, Window: time.Hour, Block: time.Minute}}
	try, look := attempts(tiers...), status(tiers...)
	const us = "1767323045678901" // the start of the test
	var steps []abuseStep
	refused := func(suffix string, texts ...string) {
		for _, text := range texts {
			given := holds(abuseKey(suffix), text, time.Hour)
			steps = append(steps, abuseStep{Name: suffix + " " + text, Given: given, Call: try, WantErr: fcall.ErrState}, abuseStep{Call: look, WantErr: fcall.ErrState})
		}
		steps = append(steps, abuseStep{Given: removes(abuseKey(suffix))})
	}
	refused("block", "", "x", "tier", "tier 0", "tier 9", "tier 12", "tier 2 ", " tier 2", "Manual", "1")
	const need = "00003000003600000000000259200000000"
	head := func(live, pages, number, strikes, marks int, rest string) string {
		return fmt.Sprintf("h%s%05d%04d%010d%02d%02d%s", need, live, pages, number, strikes, marks, rest)
	}
	refused("attempts", "", "x", "5", us, "n", "N"+need+us, "n"+need, "n"+need[1:]+us, "n-"+need[1:]+us, "n"+need+us[:15], "n"+need+us+"5", "n"+need+"9999999999999999",
		"n"+need+us+"9999999999999999", "n"+need+"nan             "+us, "n"+need+us+"             nan", "n"+need+strings.Repeat("x", 16), "h", "h"+need, "h"+need+us,
		head(1, 0, 0, 1, 0, us[:8]), head(1, 0, 0, 0, 1, us), head(1, 0, 0, 0, 1, "00002000000060000000             nan"+us), head(1, 0, 0, 0, 0, us)[:58]+"x"+us, head(1, 0, 0, 0, 0, us+" "))
	for _, strike := range []string{"9999999999999999", "             inf", strings.Repeat("x", 16)} {
		refused("attempts", head(1, 0, 0, 1, 0, strike+us))
	}
	for _, page := range []string{"x", "0000000000" + us, "0000000000" + strings.Repeat("x", 12*16)} {
		given := func(t testing.TB, s *luatest.Server) {
			holds(abuseKey("attempts"), head(13, 1, 1, 0, 0, us), time.Hour)(t, s)
			s.Do(t, "ZADD", abuseKey("attempt_pages"), us, page)
			s.Expire(t, abuseKey("attempt_pages"), time.Hour)
		}
		steps = append(steps, abuseStep{Name: "page " + page, Given: given, Call: try, WantErr: fcall.ErrState}, abuseStep{Call: look, WantErr: fcall.ErrState}, abuseStep{Given: removes(abuseKey("attempt_pages"))})
	}
	steps = append(steps, abuseStep{Given: removes(abuseKey("attempts"))})
	steps = append(
		steps,
		abuseStep{Name: "strikes that cannot be read are not lost", Given: holds(abuseKey("attempts"), head(1, 0, 0, 3, 0, us), time.Hour), Call: forgive, WantErr: fcall.ErrState},
		abuseStep{Name: "nor what may be strikes", Given: holds(abuseKey("attempts"), "x", time.Hour), Call: forgive, WantErr: fcall.ErrState},
		abuseStep{Name: "attempts that cannot be read may be forgotten", Given: holds(abuseKey("attempts"), "n"+need+"x", time.Hour), Call: forgive, Writes: true, Want: forgiven},
		abuseStep{Name: "a block that never ends", Given: holds(abuseKey("block"), "tier 1", 0), Call: try, WantErr: fcall.ErrState},
		abuseStep{Call: look, WantErr: fcall.ErrState},
		abuseStep{Call: blockFor(time.Hour, ""), WantErr: fcall.ErrState},
		abuseStep{Name: "which only a person removes", Call: unblock(false), Writes: true, Want: existed},
		abuseStep{Name: "attempts that never expire get an expiry", Given: holds(abuseKey("attempts"), "n"+need+us, 0), Call: try, Writes: true, Want: starts(1, time.Minute, 1, row(2, 0), row(2, 0)), TTLs: ttls{
			abuseKey("attempts"): 30 * day, abuseKey("block"): time.Minute,
		}},
	)
	abusers.Run(t, steps...)
}

func TestAbuse_clockBackwards(t *testing.T) {
	try := attempts(attemptTier{Threshold: 2, Window: 10 * time.Second, Block: time.Second})
	abusers.Run(
		t,
		abuseStep{Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Name: "set back by 4 s: made as of the newest", Advance: -4 * time.Second, Call: try, Writes: true, Want: starts(1, time.Second, 1, row(2, 0)), TTLs: ttls{
			abuseKey("attempts"): 30 * day, abuseKey("block"): time.Second,
		}},
		abuseStep{Name: "a block ends when its key does", Advance: -time.Minute, Call: try, Want: held(1, 61*time.Second, 1, row(0, 1))},
		abuseStep{Advance: 61 * time.Second, Call: try, Writes: true, Want: may(1, row(1, 0))},
		abuseStep{Name: "and this one is later than those that are answered", Call: try, Writes: true, Want: starts(1, time.Second, 2, row(2, 0))},
	)
}

func TestAbuse_clockFarAheadIsForgotten(t *testing.T) {
	try := attempt(attemptParams{Subject: "u1", Tiers: []attemptTier{{Threshold: 2, Window: 10 * time.Second, Block: time.Second}}, StrikeMemory: time.Minute})
	abusers.Run(
		t,
		abuseStep{Name: "a year ahead", Advance: 365 * day, Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Second, 1, row(2, 0))},
		abuseStep{Call: unblock(false), Writes: true, Want: existed},
		abuseStep{Name: "attempts and strikes are reset", Advance: -365 * day, Call: try, Writes: true, Want: may(0, row(1, 0))},
		abuseStep{Call: try, Writes: true, Want: starts(1, time.Second, 1, row(2, 0)), TTLs: ttls{
			abuseKey("attempts"): time.Minute, abuseKey("block"): time.Second,
		}},
	)
}

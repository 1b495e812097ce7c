package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// The library that ships, on the server's own clock: expiries are what the tables say, in real units.
func TestExpiry_ofTheLibraryThatShips(t *testing.T) {
	limiters.EachOnRealTime(t, func(t *testing.T, s *luatest.Server, c *ratelimit.Client) {
		must := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want := ttls{
			key("u1", "log"): time.Hour, key("u1", "receipts"): 2 * time.Hour,
			key("u1", "gcra"): 6 * time.Minute, key("u2", "gcra"): (time.Hour / 7).Truncate(time.Millisecond) + time.Millisecond,
		}
		s.CheckTTLs(t, want, func() {
			must(c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 2, Window: time.Hour, Receipt: "r", Dedup: 2 * time.Hour}))
			must(c.GCRA(t.Context(), gcraParams{Subject: "u1", Limit: 10, Period: time.Hour}))
			must(c.GCRA(t.Context(), gcraParams{Subject: "u2", Limit: 7, Period: time.Hour}))
		})
	})
}

package luatest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// The tables that run as scripts do run as scripts: on the server only the test's clock is called as a function.
func TestScripts_runTheTables(t *testing.T) {
	for _, e := range suites.Somewhere(t) {
		suite := suites.Limiters
		suite.Engines = func(testing.TB) []luatest.Engine { return nil }
		stats := func(t testing.TB, s *luatest.Server) string {
			return s.Redis.Info(t.Context(), "commandstats").Val()
		}
		take := luatest.Call((*ratelimit.Client).GCRA, ratelimit.GCRAParams{Subject: "u1", Limit: 1, Period: time.Second})
		suite.Run(
			t,
			luatest.Step[*ratelimit.Client]{Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "CONFIG", "RESETSTAT") }},
			luatest.Step[*ratelimit.Client]{Call: take, Writes: true, Want: ratelimit.GCRAResult{Allowed: true, ResetAfter: time.Second}},
			luatest.Step[*ratelimit.Client]{Call: take, Want: ratelimit.GCRAResult{RetryAfter: time.Second, ResetAfter: time.Second}},
			luatest.Step[*ratelimit.Client]{Given: func(t testing.TB, s *luatest.Server) {
				if got := stats(t, s); strings.Contains(got, "cmdstat_fcall:") || !strings.Contains(got, "cmdstat_evalsha:calls=2") {
					t.Errorf("%s: %s", e.Name, got)
				}
			}},
		)
	}
}

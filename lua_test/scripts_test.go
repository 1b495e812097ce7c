package luatest_test

import (
	"strings"
	"testing"
	"time"

	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// The tables that run as scripts do run as scripts: on the server only the test's clock is called as a function.
func TestScripts_runTheTables(t *testing.T) {
	for _, e := range somewhere(t) {
		suite := limiters
		suite.Engines = func(testing.TB) []luatest.Engine { return nil }
		stats := func(t testing.TB, s *luatest.Server) string {
			return s.Redis.Info(t.Context(), "commandstats").Val()
		}
		take := gcra(gcraParams{Bucket: "u1", Limit: 1, Period: time.Second})
		suite.Run(
			t,
			step{Given: func(t testing.TB, s *luatest.Server) { s.Do(t, "CONFIG", "RESETSTAT") }},
			step{Call: take, Writes: true, Want: gcraResult{Allowed: true, ResetAfter: time.Second}},
			step{Call: take, Want: gcraResult{RetryAfter: time.Second, ResetAfter: time.Second}},
			step{Given: func(t testing.TB, s *luatest.Server) {
				if got := stats(t, s); strings.Contains(got, "cmdstat_fcall:") || !strings.Contains(got, "cmdstat_evalsha:calls=2") {
					t.Errorf("%s: %s", e.Name, got)
				}
			}},
		)
	}
}

package luatest_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A key exists in the millisecond in which it expires, and not in the next one, whether the time passes by itself or
// is the test's.
func TestClock_expiresKeysWhenItIsMoved(t *testing.T) {
	suites.Limiters.Each(t, func(t *testing.T, s *luatest.Server, _ *ratelimit.Client) {
		ttl := func() map[string]time.Duration {
			keys, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			left := map[string]time.Duration{}
			for name, k := range keys {
				left[name] = k.TTL
			}
			return left
		}
		s.Do(t, "SET", "k", "v")
		s.Do(t, "SET", "stays", "v")
		s.Expire(t, "k", time.Second)
		for _, c := range []struct {
			move time.Duration
			want map[string]time.Duration
		}{
			{0, map[string]time.Duration{"k": time.Second, "stays": luatest.Immortal}},
			{time.Second - time.Millisecond, map[string]time.Duration{"k": time.Millisecond, "stays": luatest.Immortal}},
			{-time.Hour, map[string]time.Duration{"k": time.Hour + time.Millisecond, "stays": luatest.Immortal}},
			{time.Hour + time.Millisecond, map[string]time.Duration{"k": 0, "stays": luatest.Immortal}},
			{time.Millisecond, map[string]time.Duration{"stays": luatest.Immortal}},
		} {
			s.Advance(t, c.move)
			if diff := cmp.Diff(c.want, ttl()); diff != "" {
				t.Errorf("%s after the start (-want +got):\n%s", s.Now().Sub(luatest.Start), diff)
			}
		}
	})
}

// A time is stored in all its digits, also where those of the second's part begin with zeros.
func TestClock_textsAreTheTime(t *testing.T) {
	suites.Limiters.Each(t, func(t *testing.T, s *luatest.Server, client *ratelimit.Client) {
		want := []string{"3600000000 10"}
		for _, at := range []time.Duration{0, 123 * time.Millisecond, time.Second + 99_999*time.Microsecond, 2*time.Second + 7*time.Microsecond, 3 * time.Second} {
			s.Set(t, luatest.Start.Truncate(time.Second).Add(time.Minute+at))
			if _, err := client.SlidingLog(t.Context(), ratelimit.SlidingLogParams{Subject: "u1", Limit: 10, Window: time.Hour}); err != nil {
				t.Fatal(err)
			}
			want = append(want, strconv.FormatInt(s.Now().UnixMicro(), 10))
		}
		keys, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, keys["ratelimit:{u1}:log"].Value); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// More spans than are kept: each has its own text still.
func TestClock_expiriesAreOfTheirWindow(t *testing.T) {
	suites.Limiters.Each(t, func(t *testing.T, s *luatest.Server, client *ratelimit.Client) {
		for n := range 310 {
			window := time.Duration(n%300+1)*time.Minute + time.Microsecond
			s.Do(t, "DEL", "ratelimit:{u1}:log")
			s.CheckTTLs(t, map[string]time.Duration{"ratelimit:{u1}:log": window.Truncate(time.Millisecond) + time.Millisecond}, func() {
				if _, err := client.SlidingLog(t.Context(), ratelimit.SlidingLogParams{Subject: "u1", Limit: 10, Window: window}); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

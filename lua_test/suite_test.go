package luatest_test

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestMain(m *testing.M) { engines.Main(m) }

// A project that has no engines of its own gets the embedded one, and the server that RLFUNC_TEST_REDIS_URL names.
func TestEngines_areEmbeddedAndRedisURL(t *testing.T) {
	suite := suites.Limiters
	suite.Engines = nil
	take := luatest.Call((*ratelimit.Client).GCRA, ratelimit.GCRAParams{Subject: "u1", Limit: 1, Period: time.Second})
	steps := []luatest.Step[*ratelimit.Client]{
		{Call: take, Writes: true, Want: ratelimit.GCRAResult{Allowed: true, Taken: 1, ResetAfter: time.Second}},
		{Call: take, Want: ratelimit.GCRAResult{RetryAfter: time.Second, ResetAfter: time.Second}},
		{Advance: time.Second, Call: take, Writes: true, Want: ratelimit.GCRAResult{Allowed: true, Taken: 1, ResetAfter: time.Second}},
	}
	names := func() (all []string) {
		for _, e := range luatest.Engines(t) {
			all = append(all, e.Name)
		}
		return all
	}
	t.Setenv("RLFUNC_TEST_REDIS_URL", "")
	if diff := cmp.Diff([]string{"embedded"}, names()); diff != "" {
		t.Errorf("engines (-want +got):\n%s", diff)
	}
	suite.Run(t, steps...)
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			client := e.Client(t)
			t.Setenv("RLFUNC_TEST_REDIS_URL", e.URL)
			if diff := cmp.Diff([]string{"embedded", "redis-url"}, names()); diff != "" {
				t.Errorf("engines (-want +got):\n%s", diff)
			}
			suite.Run(t, steps...)
			if n := client.DBSize(t.Context()).Val(); n != 0 {
				t.Errorf("%d keys are left on the server", n)
			}
			if libraries, err := client.FunctionList(t.Context(), redis.FunctionListQuery{}).Result(); err != nil || len(libraries) != 0 {
				t.Errorf("libraries are left on the server: %v %v", libraries, err)
			}
		})
	}
}

func TestSnapshot_ofAStreamIsTheSameOnAllServers(t *testing.T) {
	suites.Limiters.Each(t, func(t *testing.T, s *luatest.Server, _ *ratelimit.Client) {
		s.Do(t, "XADD", "jobs", "1-1", "kind", "mail", "kind", "a b")
		s.Do(t, "XADD", "jobs", "1-2", "kind", "\xff")
		value := func() []string {
			keys, err := s.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return keys["jobs"].Value
		}
		want := []string{`1-1 ["kind" "mail" "kind" "a b"]`, `1-2 ["kind" "\xff"]`}
		if diff := cmp.Diff(want, value()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Engine, diff)
		}
		if s.Redis.XGroupCreate(t.Context(), "jobs", "workers", "0").Err() != nil {
			return // the embedded engine has no groups
		}
		s.Do(t, "XREADGROUP", "GROUP", "workers", "w1", "COUNT", "1", "STREAMS", "jobs", ">")
		delivered := value()
		want = append(want,
			`group "workers": last-delivered-id=1-1, entries-read=1`, `group "workers": consumer "w1"`, `group "workers": 1-1 is pending for "w1" since T, deliveries: 1`)
		got := append([]string(nil), delivered...)
		for i := range got {
			got[i] = regexp.MustCompile(`since \d+`).ReplaceAllString(got[i], "since T")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.Engine, diff)
		}
		s.Do(t, "XPENDING", "jobs", "workers")
		if diff := cmp.Diff(delivered, value()); diff != "" {
			t.Errorf("%s: after a command that only reads (-before +after):\n%s", s.Engine, diff)
		}
		s.Do(t, "XACK", "jobs", "workers", "1-1")
		if cmp.Equal(delivered, value()) {
			t.Errorf("%s: an acknowledged delivery is not seen", s.Engine)
		}
	})
}

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
		want := []string(nil)
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
		if diff := cmp.Diff(want, keys["rl:{u1}:sliding_log:3600000000"].Value); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// More spans than are kept: each has its own text still.
func TestClock_expiriesAreOfTheirWindow(t *testing.T) {
	suites.Limiters.Each(t, func(t *testing.T, s *luatest.Server, client *ratelimit.Client) {
		for n := range 310 {
			window := time.Duration(n%300+1)*time.Minute + time.Microsecond
			key := "rl:{u1}:sliding_log:" + strconv.FormatInt(window.Microseconds(), 10)
			s.Do(t, "FLUSHDB")
			s.CheckTTLs(t, map[string]time.Duration{key: window.Truncate(time.Millisecond) + time.Millisecond}, func() {
				if _, err := client.SlidingLog(t.Context(), ratelimit.SlidingLogParams{Subject: "u1", Limit: 10, Window: window}); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

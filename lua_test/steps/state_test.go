package steps_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// value puts a text where a bucket is; a ttl of 0 is none.
func value(text string, ttl time.Duration) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "SET", key("u1", "gcra"), text)
		if ttl > 0 {
			s.Expire(t, key("u1", "gcra"), ttl)
		}
	}
}

// entries puts texts where a log is.
func entries(texts ...any) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "DEL", key("u1", "log"))
		s.Do(t, append([]any{"RPUSH", key("u1", "log"), "10000000 2"}, texts...)...)
		s.Expire(t, key("u1", "log"), time.Hour)
	}
}

func TestState_wrongTypeIsReportedAndKept(t *testing.T) {
	window := logParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}
	limiters.Run(
		t,
		step{Given: wrongType(key("u1", "log")), Call: slidingLog(window), WantErr: fcall.ErrState},
		step{Call: slidingLog(receipt(5, "r1")), WantErr: fcall.ErrState},
		step{Call: luatest.Call((*ratelimit.Client).SlidingLogPeek, ratelimit.SlidingLogPeekParams{Subject: "u1", Limit: 5, Window: time.Second}), WantErr: fcall.ErrState},
		step{Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "DEL", key("u1", "log"))
			wrongType(key("u1", "receipts"))(t, s)
		}, Call: slidingLog(receipt(5, "r1")), WantErr: fcall.ErrState},
		step{Name: "receipts are not looked at without one", Call: slidingLog(window), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 4, ResetAfter: 10 * time.Second}},
		step{Given: wrongType(key("u1", "gcra")), Call: gcra(gcraParams{Subject: "u1", Limit: 1, Period: time.Second}), WantErr: fcall.ErrState},
		step{Call: gcra(gcraParams{Subject: "u1", Limit: 7, Period: time.Second}), WantErr: fcall.ErrState},
		step{Call: luatest.Call((*ratelimit.Client).GCRAPeek, ratelimit.GCRAPeekParams{Subject: "u1", Limit: 1, Period: time.Second}), WantErr: fcall.ErrState},
	)
}

func TestState_unreadableLogIsReportedAndKept(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 2, Window: 10 * time.Second})
	peek := luatest.Call((*ratelimit.Client).SlidingLogPeek, ratelimit.SlidingLogPeekParams{Subject: "u1", Limit: 2, Window: 10 * time.Second})
	var steps []step
	for _, text := range []string{"", "x", "nan", "-nan", "inf", "-inf", "-1", "1.5", "1e400", "9007199254740994", "5 5", "1763706467123584x", strings.Repeat("9", 400)} {
		steps = append(
			steps,
			step{Name: "newest " + text, Given: entries(text), Call: take, WantErr: fcall.ErrState},
			step{Call: peek, WantErr: fcall.ErrState},
			step{Name: "oldest " + text, Given: entries(text, luatest.Start.UnixMicro()), Call: take, WantErr: fcall.ErrState},
			step{Call: peek, WantErr: fcall.ErrState},
		)
	}
	us := luatest.Start.UnixMicro()
	steps = append(
		steps,
		step{Name: "not in order", Given: entries(us, 5, us), Call: take, WantErr: fcall.ErrState},
		step{Call: peek, WantErr: fcall.ErrState},
		step{Name: "the oldest last", Given: entries(us, 5), Call: take, WantErr: fcall.ErrState},
		step{Call: peek, WantErr: fcall.ErrState},
		step{Name: "further ahead than the window is from a wrong clock", Given: entries(int64(1) << 53), Call: take, Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "a log without an expiry gets one", Given: func(t testing.TB, s *luatest.Server) {
			entries(us)(t, s)
			s.Do(t, "PERSIST", key("u1", "log"))
		}, Call: take, Writes: true, TTLs: ttls{key("u1", "log"): 10 * time.Second}, Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
		step{Name: "receipts of no time are not known", Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "DEL", key("u1", "log"))
			s.Do(t, "ZADD", key("u1", "receipts"), "inf", "r1", "-inf", "r2", "-1", "r3")
		}, Call: slidingLog(receipt(5, "r1")), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 4, ResetAfter: 10 * time.Second}},
		step{Call: slidingLog(receipt(5, "r2")), Writes: true, Want: logResult{Allowed: true, Count: 2, Remaining: 3, ResetAfter: 10 * time.Second}},
	)
	limiters.Run(t, steps...)
}

func TestState_unreadableBucketIsReportedAndKept(t *testing.T) {
	calls := map[string]func(context.Context, *ratelimit.Client) (any, error){
		"expiry": gcra(gcraParams{Subject: "u1", Limit: 2, Period: 10 * time.Second}),
		"value":  gcra(gcraParams{Subject: "u1", Limit: 2, Period: 10*time.Second + 2*time.Microsecond}),
		"part":   gcra(gcraParams{Subject: "u1", Limit: 7, Period: 10 * time.Second}),
		"peek":   luatest.Call((*ratelimit.Client).GCRAPeek, ratelimit.GCRAPeekParams{Subject: "u1", Limit: 2, Period: 10 * time.Second}),
	}
	for mode, call := range calls {
		t.Run(mode, func(t *testing.T) {
			var steps []step
			for _, text := range []string{
				"", "x", "nan", "inf", "-1", "0", "1.5", "1e400", "ttl", "3153600000002", "1763706467123584",
				"5 60000", "5 1/3", "5 0 1/3", "5 3153600000002 1/3", "5 nan 1/3", "-5 60000 1/3", "5 60000 /3", "5 60000 1/", "5 60000 1/3 ",
				"5  60000 1/3", "5 60000 -1/3", "5 60000 1/-3", "5 60000 x/y", "5 60000 1e2/3",
			} {
				steps = append(steps, step{Name: text, Given: value(text, time.Second), Call: call, WantErr: fcall.ErrState})
			}
			if mode == "value" || mode == "part" {
				for _, text := range []string{"9007199254740994 60000 1/3", "5 60000 3/0", "5 60000 3/3", "5 60000 4/3", "5 60000 1/1000000000001"} {
					steps = append(steps, step{Name: text, Given: value(text, time.Second), Call: call, WantErr: fcall.ErrState})
				}
			} else {
				steps = append(steps, step{Name: "a time that never expires", Given: value("1763706467123584 60000 1/3", 0), Call: call, WantErr: fcall.ErrState})
			}
			steps = append(steps, step{Name: "a bucket that never expires", Given: value("60000", 0), Call: call, WantErr: fcall.ErrState})
			limiters.Run(t, steps...)
		})
	}
}

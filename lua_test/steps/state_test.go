package steps_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// holding puts a text where a key of u1 is; a ttl of 0 is none.
func holding(suffix, text string, ttl time.Duration) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "SET", key("u1", suffix), text)
		if ttl > 0 {
			s.Expire(t, key("u1", suffix), ttl)
		}
	}
}

const logKey = "sliding_log:10000000"

// entries puts texts where a log is.
func entries(texts ...any) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "DEL", key("u1", logKey))
		s.Do(t, append([]any{"RPUSH", key("u1", logKey)}, texts...)...)
		s.Expire(t, key("u1", logKey), time.Hour)
	}
}

func TestState_wrongTypeIsReportedAndKept(t *testing.T) {
	window := logParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}
	limiters.Run(
		t,
		step{Given: wrongType(key("u1", logKey)), Call: slidingLog(window), WantErr: fcall.ErrState},
		step{Call: slidingLog(receipt(5, "r1")), WantErr: fcall.ErrState},
		step{Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "DEL", key("u1", logKey))
			wrongType(key("u1", "receipt:10000000:r1"))(t, s)
		}, Call: slidingLog(receipt(5, "r1")), WantErr: fcall.ErrState},
		step{Name: "receipts are not looked at without one", Call: slidingLog(window), Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 4, ResetAfter: 10 * time.Second}},
		step{Given: wrongType(key("u1", "gcra:1000000")), Call: gcra(gcraParams{Subject: "u1", Limit: 1, Period: time.Second}), WantErr: fcall.ErrState},
		step{Given: wrongType(key("u1", "quota")), Call: quota(hourly), WantErr: fcall.ErrState},
	)
}

func TestState_unreadableLogIsReportedAndKept(t *testing.T) {
	take := slidingLog(logParams{Subject: "u1", Limit: 2, Window: 10 * time.Second})
	look := slidingLog(logParams{Subject: "u1", Limit: 2, Window: 10 * time.Second, Cost: cost(0)})
	var steps []step
	for _, text := range []string{"", "x", "nan", "-nan", "inf", "-inf", "-1", "1.5", "1e400", "9007199254740994", "5 5", "1763706467123584x", strings.Repeat("9", 400)} {
		steps = append(
			steps,
			step{Name: "newest " + text, Given: entries(text), Call: take, WantErr: fcall.ErrState},
			step{Call: look, WantErr: fcall.ErrState},
			step{Name: "oldest " + text, Given: entries(text, luatest.Start.UnixMicro()), Call: take, WantErr: fcall.ErrState},
			step{Call: look, WantErr: fcall.ErrState},
		)
	}
	us := luatest.Start.UnixMicro()
	steps = append(
		steps,
		step{Name: "further ahead than the window is from a wrong clock", Given: entries(int64(1) << 53), Call: take, Writes: true, Want: logResult{Allowed: true, Count: 1, Remaining: 1, ResetAfter: 10 * time.Second}},
		step{Name: "a log without an expiry gets one", Given: func(t testing.TB, s *luatest.Server) {
			entries(us)(t, s)
			s.Do(t, "PERSIST", key("u1", logKey))
		}, Call: take, Writes: true, TTLs: ttls{key("u1", logKey): 10 * time.Second}, Want: logResult{Allowed: true, Count: 2, ResetAfter: 10 * time.Second}},
	)
	limiters.Run(t, steps...)
}

// hourly is a quota of the first hour.
var hourly = quotaOf(calendar.Hour, "UTC", 5, 0)

func TestState_unreadableTextIsReportedAndKept(t *testing.T) {
	texts := slices.Clip([]string{
		"", "x", "nan", "-nan", "inf", "-inf", "-1", "TTL", "0", "00", "007", "+5", " 5", "5 ", "5\n", "5\x00", "1.5", "1e3", "0x10", "1e400",
		"9007199254740992", strings.Repeat("9", 400),
	})
	pair := append(texts, "5", "1 1 1", "01 1", "1 01", "1  1", "1 1 ", " 1 1", "1 9007199254740992", "1 -1", "1 1e3", "1\x001")
	level := append(texts, "5", "0 5", "0 5 5 5", "x 5 5", "0 0 5", "0 1000000000001 5", "5001 5 5", "-1 5 5", "0 5 5 ", "0  5 5", "0 1e2 5")
	paid := append(texts, "5", "5 5", "5 5 5 5", "5 5 x", "-5 5 5", "5 5 5 ", "5 5 5x", "5 5 5 a", "5 5 5 a=", "5 5 5 =1", "5 5 5 a=-1", "5 5 5 a=1 ", "5 5 5  a=1", "5 5 5 a=9007199254740994", "9007199254740994 1 0")
	bucket := checkLimit{Kind: ratelimit.LimitKindGCRA, Limit: 5, Window: 10 * time.Second}
	for suffix, test := range map[string]struct {
		texts []string
		timed string // a text that is right if the key expires
		calls []func(context.Context, *ratelimit.Client) (any, error)
	}{
		"fixed_window:10000000": {texts, "5", []func(context.Context, *ratelimit.Client) (any, error){
			fixedWindow(windowParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}),
			giveBack(checkLimit{Kind: ratelimit.LimitKindFixedWindow, Limit: 5, Window: 10 * time.Second}, 1),
		}},
		"sliding_counter:10000000": {pair, "1 1", []func(context.Context, *ratelimit.Client) (any, error){
			count(1), giveBack(checkLimit{Kind: ratelimit.LimitKindSlidingCounter, Limit: 5, Window: 10 * time.Second}, 1),
		}},
		"gcra:10000000": {level, "0 5 5", []func(context.Context, *ratelimit.Client) (any, error){
			gcra(gcraParams{Subject: "u1", Limit: 5, Period: 10 * time.Second}), gcra(gcraParams{Subject: "u1", Limit: 7, Period: 10 * time.Second}),
			giveBack(bucket, 1), check(bucket),
		}},
		"receipt:10000000:r1": {paid, "", []func(context.Context, *ratelimit.Client) (any, error){slidingLog(receipt(5, "r1"))}},
	} {
		for i, call := range test.calls {
			t.Run(fmt.Sprint(suffix, " ", i), func(t *testing.T) {
				var steps []step
				for _, text := range test.texts {
					steps = append(steps, step{Name: text, Given: holding(suffix, text, 5*time.Second), Call: call, WantErr: fcall.ErrState})
				}
				if test.timed != "" {
					steps = append(steps, step{Name: "never expires", Given: holding(suffix, test.timed, 0), Call: call, WantErr: fcall.ErrState})
				}
				limiters.Run(t, steps...)
			})
		}
	}
}

func TestState_unreadablePeriodIsReportedAndKept(t *testing.T) {
	var steps []step
	for _, text := range []string{"", "x", "nan", "-1", "0", "05", "1.5", "1e3", "5 ", "9007199254740992", strings.Repeat("9", 400)} {
		steps = append(steps, step{Name: text, Given: func(t testing.TB, s *luatest.Server) {
			s.Do(t, "HSET", key("u1", "quota"), fmt.Sprintf("%d %d", hourly.Start.UnixMicro(), hourly.Next.UnixMicro()), text)
		}, Call: quota(hourly), WantErr: fcall.ErrState})
	}
	limiters.Run(t, steps...)
}

func TestState_largestCountsAreRead(t *testing.T) {
	limiters.Run(
		t,
		step{Given: holding("fixed_window:10000000", "9007199254740991", 5*time.Second), Call: fixedWindow(windowParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}), Want: windowResult{RetryAfter: 5 * time.Second, ResetAfter: 5 * time.Second}},
		step{Given: holding("sliding_counter:10000000", "1000000000000 5", 15*time.Second), Call: count(1), Want: counterResult{RetryAfter: 5 * time.Second, ResetAfter: 15 * time.Second}},
	)
}

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
			key("u1", "sliding_log:3600000000"): time.Hour, key("u1", "receipt:3600000000:r"): 2 * time.Hour,
			key("u1", "gcra:3600000000"): 6 * time.Minute, key("u2", "gcra:3600000000"): (time.Hour / 7).Truncate(time.Millisecond) + time.Millisecond,
		}
		s.CheckTTLs(t, want, func() {
			must(c.SlidingLog(t.Context(), logParams{Subject: "u1", Limit: 2, Window: time.Hour, Receipt: "r", Dedup: 2 * time.Hour}))
			must(c.GCRA(t.Context(), gcraParams{Subject: "u1", Limit: 10, Period: time.Hour}))
			must(c.GCRA(t.Context(), gcraParams{Subject: "u2", Limit: 7, Period: time.Hour}))
		})
	})
}

package steps_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/calendar"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// holding puts a text where a subject's key is; a ttl of 0 is none.
func holding(suffix, text string, ttl time.Duration) func(testing.TB, *luatest.Server) {
	return func(t testing.TB, s *luatest.Server) {
		s.Do(t, "SET", key("u1", suffix), text)
		if ttl > 0 {
			s.Expire(t, key("u1", suffix), ttl)
		}
	}
}

// hourly is a quota of the first hour.
var hourly = quotaOf(calendar.Hour, "UTC", 5, 0)

// periodText is that hour, or another, as a quota's key has it.
func periodText(after time.Duration, used string) string {
	return fmt.Sprintf("%d %d %s", hourly.Start.Add(after).UnixMicro(), hourly.Next.Add(after).UnixMicro(), used)
}

// windowCalls are those that read a window's or a counter's key, by its suffix.
var windowCalls = map[string]map[string]func(context.Context, *ratelimit.Client) (any, error){
	"window": {
		"take":   fixedWindow(windowParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}),
		"peek":   luatest.Call((*ratelimit.Client).FixedWindowPeek, ratelimit.FixedWindowPeekParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}),
		"refund": luatest.Call((*ratelimit.Client).FixedWindowRefund, ratelimit.FixedWindowRefundParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}),
	},
	"counter": {
		"take":   count(1),
		"peek":   luatest.Call((*ratelimit.Client).SlidingCounterPeek, ratelimit.SlidingCounterPeekParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}),
		"refund": luatest.Call((*ratelimit.Client).SlidingCounterRefund, ratelimit.SlidingCounterRefundParams{Subject: "u1", Limit: 5, Window: 10 * time.Second}),
	},
	"quota": {
		"take":    quota(hourly),
		"peek":    luatest.Call((*ratelimit.Client).QuotaPeek, ratelimit.QuotaPeekParams(hourly)),
		"refund":  luatest.Call((*ratelimit.Client).QuotaRefund, ratelimit.QuotaRefundParams{Subject: "u1", Limit: 5, Previous: hourly.Previous, Start: hourly.Start, Next: hourly.Next, After: hourly.After}),
		"at most": luatest.Call((*ratelimit.Client).QuotaAtMost, ratelimit.QuotaAtMostParams{Subject: "u1", Limit: 5, Previous: hourly.Previous, Start: hourly.Start, Next: hourly.Next, After: hourly.After, Most: 2}),
	},
	"gcra": {
		"refund":         luatest.Call((*ratelimit.Client).GCRARefund, ratelimit.GCRARefundParams{Subject: "u1", Limit: 1, Period: time.Second}),
		"refund by time": luatest.Call((*ratelimit.Client).GCRARefund, ratelimit.GCRARefundParams{Subject: "u1", Limit: 7, Period: time.Second}),
	},
}

func TestState_unreadableWindowIsReportedAndKept(t *testing.T) {
	texts := []string{"", "x", "nan", "-nan", "inf", "-inf", "-1", "TTL"}
	numbers := slices.Clip([]string{
		"0", "00", "007", "+5", " 5", "5 ", "5\n", "5\x00", "1.5", "1e3", "0x10", "1e400",
		strings.Repeat("9", 400),
	})
	more := map[string][]string{
		"window":  append(numbers, "1000001", "5", "100000000000", "010000000005", "3153600000010000005", "10000 0 5 ", "10000  0 5", "10000 0 5;", "10000 0 x", "10000 0 9007199254740993"),
		"counter": append(numbers, "1", "10000001000000", "3400000000000000", "9007199254740992", "9007199254740993", "99999999999999999", "14 1 1", "0 10000000 1", "34 10000000 1", "014 10000000 1", "14 10000000 01", "14 1000000000001 1", "14 10000000", "14 10000000 1 1", "14 1e9 1"),
		"quota": append(numbers, "9007199254740993", "99999999999999999", "5", "0 5", "5 0 5", periodText(0, ""), periodText(0, "x"), periodText(0, "-1"), periodText(0, "1.5"), periodText(0, "05"), periodText(0, "1e3"),
			periodText(0, "9007199254740992"), periodText(0, "1;"), periodText(0, "1;1"), periodText(0, "1")+" ", " "+periodText(0, "1"),
			periodText(time.Hour, "1;")+periodText(0, "x"), strings.Repeat(periodText(time.Hour, "1;"), 8)+periodText(0, "1"), strings.Repeat("1 2 3;", 100)),
	}
	for suffix, calls := range windowCalls {
		for name, call := range calls {
			t.Run(suffix+" "+name, func(t *testing.T) {
				var steps []step
				for _, text := range slices.Concat(texts, more[suffix]) {
					steps = append(steps, step{Name: text, Given: holding(suffix, text, 5*time.Second), Call: call, WantErr: fcall.ErrState})
				}
				never := map[string]string{"window": "100000000005", "counter": "1400000000000005", "gcra": "60000"}
				if text, timed := never[suffix]; timed { // the expiry is a part of the state
					steps = append(steps, step{Name: "never expires", Given: holding(suffix, text, 0), Call: call, WantErr: fcall.ErrState})
				}
				limiters.Run(t, steps...)
			})
		}
	}
}

func TestState_largestCountsAreRead(t *testing.T) {
	limiters.Run(
		t,
		step{Given: holding("window", "100009999999", 5*time.Second), Call: windowCalls["window"]["take"], Want: windowResult{RetryAfter: 5 * time.Second, ResetAfter: 5 * time.Second}},
		step{Given: holding("window", "10000 0 9007199254740991", 5*time.Second), Call: windowCalls["window"]["take"], Want: windowResult{RetryAfter: 5 * time.Second, ResetAfter: 5 * time.Second}},
		step{Given: holding("counter", "1499999999999999", 15*time.Second), Call: count(1), Want: counterResult{RetryAfter: 15 * time.Second, ResetAfter: 15 * time.Second}},
		step{Given: holding("counter", "14 1000000000000 5", 15*time.Second), Call: count(1), Want: counterResult{RetryAfter: 5 * time.Second, ResetAfter: 15 * time.Second}},
	)
}

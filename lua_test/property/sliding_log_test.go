package property_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type logCall = call[*ratelimit.Client, *model.SlidingLog]

var slidingLogFamily = family[*ratelimit.Client, *model.SlidingLog]{
	name:      "sliding_log",
	suite:     suites.Limiters,
	model:     model.NewSlidingLog,
	keys:      []storedKey{{"log", "list"}, {"receipts", "zset"}},
	draw:      drawSlidingLog,
	invariant: slidingLogInvariant,
}

// subjects of histories: few, so that they meet, and such as might be taken for each other.
var subjects = []string{"u1", "u1", "u1", "u2", "2001:db8::1:7334"}

func drawSlidingLog(t *rapid.T) plan[*ratelimit.Client, *model.SlidingLog] {
	windows := []time.Duration{time.Microsecond, 3 * time.Microsecond, 999 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute + time.Nanosecond, 3650 * day}
	type limit struct {
		limit  int64
		window time.Duration
	}
	limits := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) limit {
		return limit{
			rapid.SampledFrom([]int64{1, 2, 3, 3, 5, 8, 1_000_000}).Draw(t, "limit"),
			rapid.SampledFrom(windows).Draw(t, "window"),
		}
	}), 1, 3).Draw(t, "limits")
	var spans []time.Duration
	for _, l := range limits {
		spans = append(spans, l.window)
	}
	dedups := append([]time.Duration{0, 0, 0, 1, time.Microsecond, 2 * time.Second, 3650 * day}, spans...)
	take := rapid.Custom(func(t *rapid.T) logCall {
		l := rapid.SampledFrom(limits).Draw(t, "limits")
		p := logParams{Subject: fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject")), Limit: l.limit, Window: l.window}
		p.Receipt = rapid.SampledFrom([]string{"", "", "", "", "r1", "r1", "r2", "\x00\xff"}).Draw(t, "receipt")
		if p.Receipt != "" {
			p.Dedup = rapid.SampledFrom(dedups).Draw(t, "dedup")
			p.Refresh = rapid.IntRange(0, 3).Draw(t, "refresh") == 3
		}
		return takeFromLog(p)
	})
	return plan[*ratelimit.Client, *model.SlidingLog]{spans: spans, steady: len(limits) == 1, call: func(t *rapid.T) logCall {
		switch rapid.IntRange(0, 19).Draw(t, "function") {
		default:
			return take.Draw(t, "take")
		case 13, 14:
			return refundToLog(ratelimit.SlidingLogRefundParams{
				Subject: fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject")),
				Receipt: rapid.SampledFrom([]string{"r1", "r1", "r2", "\x00\xff"}).Draw(t, "receipt"),
			})
		case 15, 16, 17, 18:
			l := rapid.SampledFrom(limits).Draw(t, "limits")
			return peekIntoLog(ratelimit.SlidingLogPeekParams{Subject: fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject")), Limit: l.limit, Window: l.window})
		case 19:
			return resetLog(ratelimit.SlidingLogResetParams{Subject: fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))})
		}
	}}
}

func takeFromLog(p logParams) logCall {
	return logCall{
		function: "sliding_log", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingLog, p),
		answer: func(m *model.SlidingLog) answer {
			remembered := m.Remembers(string(p.Subject), p.Receipt)
			r, changed := m.Take(string(p.Subject), model.SlidingLogCall{Limit: p.Limit, Window: p.Window, Receipt: p.Receipt, Dedup: p.Dedup, Refresh: p.Refresh})
			return answer{
				reply: logResult(r), changed: changed,
				refused: !r.Allowed && !remembered, retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(logResult).Allowed },
			}
		},
	}
}

func peekIntoLog(p ratelimit.SlidingLogPeekParams) logCall {
	return logCall{
		function: "sliding_log_peek", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingLogPeek, p),
		answer: func(m *model.SlidingLog) answer {
			r := m.Peek(string(p.Subject), p.Limit, p.Window)
			return answer{
				reply:   ratelimit.SlidingLogPeekResult(r),
				refused: !r.Allowed, retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(ratelimit.SlidingLogPeekResult).Allowed },
			}
		},
	}
}

func refundToLog(p ratelimit.SlidingLogRefundParams) logCall {
	return logCall{
		function: "sliding_log_refund", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingLogRefund, p),
		answer: func(m *model.SlidingLog) answer {
			refunded := m.Refund(string(p.Subject), p.Receipt)
			return answer{reply: ratelimit.SlidingLogRefundResult{Refunded: refunded}, changed: refunded}
		},
	}
}

func resetLog(p ratelimit.SlidingLogResetParams) logCall {
	return logCall{
		function: "sliding_log_reset", subject: string(p.Subject), params: p,
		queue: queued((*ratelimit.Client).QueueSlidingLogReset, p),
		answer: func(m *model.SlidingLog) answer {
			existed := m.Reset(string(p.Subject))
			return answer{reply: ratelimit.SlidingLogResetResult{Existed: existed}, changed: existed}
		},
	}
}

// slidingLogInvariant holds each caller to its own limit over what all have taken, from the times of the admissions alone: when
// a call is admitted, no more than its limit were in its window since the first call with that limit and window was. A key that
// was idle for the longest window is gone, and what its callers need with it. A refund takes its receipt's newest admission out. It says nothing across a clock that went back or a reset, nor across the refund of what was
// admitted before one of these: if the log was reset there, the entry that goes may be another one of the same microsecond.
func slidingLogInvariant() func(time.Time, string, any, any) string {
	type rule struct {
		limit  int64
		window time.Duration
	}
	type admission struct {
		number  int
		at      time.Time
		receipt string
	}
	type stretch struct {
		admitted []admission
		first    map[rule]int // the number of the first admission of a rule
		number   int
		last     time.Time
		longest  time.Duration
	}
	stretches, clock := map[string]*stretch{}, time.Time{}
	return func(now time.Time, subject string, params, reply any) string {
		if now.Before(clock) {
			clear(stretches)
		}
		clock = now
		s := stretches[subject]
		if s == nil {
			s = &stretch{first: map[rule]int{}}
			stretches[subject] = s
		}
		switch p := params.(type) {
		case ratelimit.SlidingLogResetParams:
			delete(stretches, subject)
		case ratelimit.SlidingLogRefundParams:
			if !reply.(ratelimit.SlidingLogRefundResult).Refunded {
				break
			}
			n := len(s.admitted) - 1
			for n >= 0 && s.admitted[n].receipt != p.Receipt {
				n--
			}
			if n < 0 {
				delete(stretches, subject)
				break
			}
			s.admitted = slices.Delete(s.admitted, n, n+1)
		case logParams:
			if r := reply.(logResult); !r.Allowed || r.Duplicate {
				break
			}
			if now.Sub(s.last) >= s.longest {
				*s = stretch{first: map[rule]int{}}
			}
			s.last, s.longest = now, max(s.longest, p.Window)
			s.number++
			s.admitted = append(s.admitted, admission{s.number, now, p.Receipt})
			its := rule{p.Limit, p.Window}
			if s.first[its] == 0 {
				s.first[its] = s.number
			}
			inside := int64(0)
			for _, a := range slices.Backward(s.admitted) {
				if a.number < s.first[its] || now.Sub(a.at) >= p.Window {
					break
				}
				inside++
			}
			if inside > p.Limit {
				return fmt.Sprintf("%d admissions within %s, and the limit of this caller is %d", inside, p.Window, p.Limit)
			}
		}
		return ""
	}
}

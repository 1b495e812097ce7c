package property_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type checkCall = call[*ratelimit.Client, *model.Check]

var checkFamily = family[*ratelimit.Client, *model.Check]{
	name:      "check",
	suite:     suites.Limiters,
	model:     model.NewCheck,
	keys:      checkKeys(),
	share:     4,
	draw:      drawCheck,
	invariant: checkInvariant,
}

var (
	checkKinds = []ratelimit.LimitKind{ratelimit.LimitKindSlidingLog, ratelimit.LimitKindSlidingCounter, ratelimit.LimitKindFixedWindow, ratelimit.LimitKindGCRA}
	checkNames = []string{"a", "b", "c", "minute"}
	// drawnKinds has fewer quotas: a call outside of its periods is refused whole.
	drawnKinds = append(slices.Repeat(checkKinds, 2), ratelimit.LimitKindQuota)
)

// A quotaPeriod is the middle one of three of one length.
type quotaPeriod struct{ previous, start, after time.Time }

func drawQuotaPeriod(t *rapid.T, length time.Duration) quotaPeriod {
	offset := time.Duration(rapid.Int64Range(0, int64(length/time.Microsecond)-1).Draw(t, "offset")) * time.Microsecond
	periods := rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, 1, 1, 2, -1}).Draw(t, "periods")
	start := luatest.Start.Truncate(time.Second).Add(-offset + periods*length)
	return quotaPeriod{start.Add(-length), start, start.Add(2 * length)}
}

var quotaLengths = rapid.SampledFrom([]time.Duration{time.Minute, day, day, 365 * day})

func checkKeys() []storedKey {
	keys := []storedKey{{"checked", "zset"}}
	for _, kind := range drawnKinds[len(checkKinds):] {
		for _, name := range checkNames {
			stored := "string"
			if kind == ratelimit.LimitKindSlidingLog {
				stored = "list"
			}
			keys = append(keys, storedKey{string(kind) + ":" + name, stored})
		}
	}
	return keys
}

// drawCheck draws one to three sets of limits: mostly of a few, sometimes all 16 that there are. Sometimes a row
// contradicts itself, or another.
func drawCheck(t *rapid.T) plan[*ratelimit.Client, *model.Check] {
	windows := []time.Duration{time.Microsecond, 3 * time.Microsecond, time.Millisecond, 1500 * time.Microsecond, time.Second, time.Second, 10 * time.Second, time.Minute + time.Nanosecond, 90 * day}
	limit := rapid.Custom(func(t *rapid.T) checkLimit {
		l := checkLimit{
			Kind: rapid.SampledFrom(drawnKinds).Draw(t, "kind"), Name: rapid.SampledFrom(checkNames).Draw(t, "name"),
			Limit: rapid.SampledFrom([]int64{1, 2, 3, 3, 5, 7, 9, 1_000_000, 2_000_000, 77_777_777_777, largest}).Draw(t, "limit"), Window: rapid.SampledFrom(windows).Draw(t, "window"),
			Shadow: rapid.IntRange(0, 9).Draw(t, "shadow") == 9, Global: rapid.IntRange(0, 4).Draw(t, "global") == 4,
		}
		if l.Kind == ratelimit.LimitKindGCRA || rapid.IntRange(0, 99).Draw(t, "misplaced burst") == 99 {
			l.Burst = rapid.SampledFrom([]int64{0, 0, 1, 2, 10, 1_000_000, largest}).Draw(t, "burst")
		}
		if l.Kind == ratelimit.LimitKindQuota {
			l.Window = quotaLengths.Draw(t, "length")
		}
		if l.Kind == ratelimit.LimitKindSlidingLog && rapid.IntRange(0, 49).Draw(t, "large log") < 49 {
			l.Limit = min(l.Limit, 1_000_000)
		}
		return l
	})
	same := func(l checkLimit) string { return string(l.Kind) + l.Name }
	set := rapid.Custom(func(t *rapid.T) []checkLimit {
		if rapid.IntRange(0, 99).Draw(t, "one limit twice") == 99 {
			return rapid.SliceOfN(limit, 2, 6).Draw(t, "limits")
		}
		return rapid.OneOf(
			rapid.SliceOfNDistinct(limit, 1, 4, same), rapid.SliceOfNDistinct(limit, 1, 4, same), rapid.SliceOfNDistinct(limit, 5, 16, same),
		).Draw(t, "limits")
	})
	sets := rapid.SliceOfN(set, 1, 3).Draw(t, "sets")
	var spans []time.Duration
	for _, l := range slices.Concat(sets...) {
		spans = append(spans, l.Window, max(l.Window/time.Duration(l.Limit), time.Microsecond))
	}
	dedups := append([]time.Duration{0, 0, 0, 1, time.Microsecond, 2 * time.Second, 3650 * day}, spans...)
	return plan[*ratelimit.Client, *model.Check]{spans: spans, steady: len(sets) == 1, call: func(t *rapid.T) checkCall {
		p := checkParams{Subject: fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))}
		p.Limits = slices.Clone(rapid.SampledFrom(sets).Draw(t, "limits"))
		which := rapid.IntRange(0, 19).Draw(t, "function")
		p.Weight = rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 2, 3, 1_000_003, largest}).Draw(t, "weight")
		for i := range p.Limits {
			l := &p.Limits[i]
			if l.Kind == ratelimit.LimitKindQuota {
				q := drawQuotaPeriod(t, l.Window)
				l.Previous, l.Start, l.After = q.previous, q.start, q.after
			}
			costs := []*int64{nil, nil, nil, nil, cost(0), cost(1)}
			if l.Kind != ratelimit.LimitKindSlidingLog {
				most := l.Limit
				if p.Weight > 1 {
					most = min(cmp.Or(l.Burst, l.Limit), l.Limit) / p.Weight
				}
				if costs = append(costs, cost(2), cost(max(most/2, 1)), cost(most)); most == 0 && !l.Shadow {
					costs = []*int64{cost(0)}
				}
			}
			l.Cost = rapid.SampledFrom(costs).Draw(t, "cost")
		}
		if l := &p.Limits[0]; rapid.IntRange(0, 49).Draw(t, "above") == 49 {
			l.Cost = cost(min(l.Limit+1, largest))
		}
		p.Receipt = rapid.SampledFrom([]string{"", "", "", "", "r1", "r1", "r2", "\x00\xff"}).Draw(t, "receipt")
		if p.Receipt != "" {
			p.Dedup = rapid.SampledFrom(dedups).Draw(t, "dedup")
		}
		if which == 19 {
			return resetCheck(p)
		}
		if which > 14 {
			return peekAtCheck(p)
		}
		return takeFromCheck(p)
	}}
}

func modelCheck(p checkParams) model.CheckCall {
	c := model.CheckCall{Weight: p.Weight, Receipt: p.Receipt, Dedup: p.Dedup}
	for _, l := range p.Limits {
		c.Limits = append(c.Limits, model.CheckLimit{
			Name: l.Name, Kind: string(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: modelCost(l.Cost), Shadow: l.Shadow, Global: l.Global,
			Previous: l.Previous, Start: l.Start, After: l.After,
		})
	}
	return c
}

// checkTick is the tick of the limit that waits longest.
func checkTick(c model.CheckCall, r model.CheckResult) time.Duration {
	tick := time.Millisecond
	for i, row := range r.Limits {
		if !row.Allowed && !c.Limits[i].Shadow && row.RetryAfter == r.RetryAfter {
			tick = min(tick, c.Limits[i].Tick())
		}
	}
	return tick
}

// mayReturn reports whether a limit is full though its key exists: what a wrong clock has left counts again once the clock
// has caught up with it, and a refused call leaves it there. Then retry_after is that of the other limits.
func mayReturn(m *model.Check, subject string, c model.CheckCall, r model.CheckResult) bool {
	ends := m.Expiries(subject)
	for i, row := range r.Limits {
		if c.Limits[i].Kind == "quota" && !m.Now().Add(r.RetryAfter).Before(c.Limits[i].After) {
			return true // by then the call's periods are over
		}
		if c.Limits[i].Kind == "quota" && row.RetryAfter < r.RetryAfter && m.Estimates(subject, c.Limits[i]) {
			return true // by then its use may have grown
		}
		if row.ResetAfter == 0 && ends[c.Limits[i].Kind+":"+c.Limits[i].Name] > m.Now().UnixMilli() {
			return true
		}
	}
	return false
}

func takeFromCheck(p checkParams) checkCall {
	c := modelCheck(p)
	return checkCall{
		function: "check", subject: string(p.Subject), params: p,
		queue: packed((*ratelimit.Client).QueueCheck, p.Pack),
		answer: func(m *model.Check) answer {
			remembered := m.Remembers(string(p.Subject), p.Receipt)
			r, changed, err := m.Check(string(p.Subject), c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := checkResult{Allowed: r.Allowed, Duplicate: r.Duplicate, Refused: r.Refused, RetryAfter: r.RetryAfter}
			for _, row := range r.Limits {
				want.Limits = append(want.Limits, checkRow(row))
			}
			return answer{
				reply: want, changed: changed,
				refused: !r.Allowed && !remembered && !mayReturn(m, string(p.Subject), c, r), retry: r.RetryAfter, tick: checkTick(c, r),
				passes: func(reply any) bool { return reply.(checkResult).Allowed },
			}
		},
	}
}

// peekParams are a call of check_peek, with rows that are not packed yet.
type peekParams checkParams

func peekAtCheck(p checkParams) checkCall {
	c := modelCheck(p)
	return checkCall{
		function: "check_peek", subject: string(p.Subject), params: peekParams(p),
		queue: packed((*ratelimit.Client).QueueCheckPeek, p.PackPeek),
		answer: func(m *model.Check) answer {
			remembered := m.Remembers(string(p.Subject), p.Receipt)
			r, err := m.Peek(string(p.Subject), c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := ratelimit.CheckPeekResult{Allowed: r.Allowed, Duplicate: r.Duplicate, Refused: r.Refused, RetryAfter: r.RetryAfter}
			for _, row := range r.Limits {
				want.Limits = append(want.Limits, checkRow(row))
			}
			return answer{
				reply:   want,
				refused: !r.Allowed && !remembered && !mayReturn(m, string(p.Subject), c, r), retry: r.RetryAfter, tick: checkTick(c, r),
				passes: func(reply any) bool { return reply.(ratelimit.CheckPeekResult).Allowed },
			}
		},
	}
}

// resetParams are a call of check_reset.
type resetParams checkParams

func resetCheck(p checkParams) checkCall {
	c := modelCheck(p)
	return checkCall{
		function: "check_reset", subject: string(p.Subject), params: resetParams(p),
		queue: packed((*ratelimit.Client).QueueCheckReset, p.PackReset),
		answer: func(m *model.Check) answer {
			existed, err := m.Reset(string(p.Subject), c.Limits)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{reply: ratelimit.CheckResetResult{Existed: existed}, changed: existed}
		},
	}
}

// checkInvariant holds each limit to its kind's invariant, and that a call is allowed exactly if each of its limits allows but shadows.
func checkInvariant() func(time.Time, string, any, any) string {
	var log, bucket, counter, window func(time.Time, string, any, any) string
	var clock time.Time
	return func(now time.Time, subject string, params, reply any) string {
		// Not each of them sees each call.
		if log == nil || now.Before(clock) {
			log, bucket, counter, window = slidingLogInvariant(), gcraInvariant(), slidingCounterInvariant(), fixedWindowInvariant()
		}
		clock = now
		of := func(kind, name string) string { return subject + " " + kind + " " + name }
		if p, ok := params.(resetParams); ok {
			for _, l := range p.Limits {
				log(now, of("sliding_log", l.Name), ratelimit.SlidingLogResetParams{}, nil)
				counter(now, of("sliding_counter", l.Name), ratelimit.SlidingCounterResetParams{}, nil)
				window(now, of("fixed_window", l.Name), ratelimit.FixedWindowResetParams{}, nil)
				bucket(now, of("gcra", l.Name), ratelimit.GCRAResetParams{}, nil)
			}
			return ""
		}
		p, ok := params.(checkParams)
		if !ok {
			return ""
		}
		r := reply.(checkResult)
		limits := modelCheck(p).Weighed()
		for i, row := range r.Limits {
			l, problem := p.Limits[i], ""
			l.Cost = cost(limits[i].Cost)
			took := r.Allowed && row.Allowed && (!r.Duplicate || l.Global) && limits[i].Cost > 0
			switch l.Kind {
			case ratelimit.LimitKindSlidingLog:
				problem = log(now, of("sliding_log", l.Name), logParams{Limit: l.Limit, Window: l.Window}, logResult{Allowed: took})
			case ratelimit.LimitKindSlidingCounter:
				problem = counter(now, of("sliding_counter", l.Name), counterParams{Limit: l.Limit, Window: l.Window, Cost: l.Cost}, counterResult{Allowed: took, ResetAfter: row.ResetAfter})
			case ratelimit.LimitKindFixedWindow:
				problem = window(now, of("fixed_window", l.Name), windowParams{Limit: l.Limit, Window: l.Window, Cost: l.Cost}, windowResult{Allowed: took, ResetAfter: row.ResetAfter})
			case ratelimit.LimitKindGCRA:
				problem = bucket(now, of("gcra", l.Name), gcraParams{Limit: l.Limit, Period: l.Window, Burst: l.Burst, Cost: l.Cost}, gcraResult{Allowed: took})
			}
			if problem != "" {
				return fmt.Sprintf("limit %d: %s", i, problem)
			}
		}
		refused := false
		for i, row := range r.Limits {
			refused = refused || !row.Allowed && !p.Limits[i].Shadow
		}
		if len(r.Limits) > 0 && r.Allowed == refused {
			return "the call is not allowed exactly if each of its limits allows"
		}
		return ""
	}
}

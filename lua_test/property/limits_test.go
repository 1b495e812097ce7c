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

// limitFamily is every function of library ratelimit: those of one limit, check, refund and reset act on the same keys.
var limitFamily = family[*ratelimit.Client, *model.Check]{
	name:      "ratelimit",
	suite:     suites.Limiters,
	model:     model.NewCheck,
	keys:      limitKeys(),
	draw:      drawLimits,
	invariant: limitInvariant,
}

type limitCall = call[*ratelimit.Client, *model.Check]

var (
	limitNames = []string{"", "a", "b"}
	// A window or period has more than a millisecond, and no whole one; the longest make products above 2^53.
	limitWindows = []time.Duration{time.Millisecond + 3*time.Microsecond, time.Second, 10 * time.Second, 90 * day}
	limitKinds   = []ratelimit.LimitKind{ratelimit.LimitKindSlidingLog, ratelimit.LimitKindSlidingCounter, ratelimit.LimitKindFixedWindow, ratelimit.LimitKindGCRA}
	// drawnKinds has fewer quotas: a call outside of its periods is refused whole.
	drawnKinds     = append(slices.Repeat(limitKinds, 2), ratelimit.LimitKindQuota)
	limitReceipts  = []string{"r1", "r2", "\x00\xff"}
	logKindStored  = map[ratelimit.LimitKind]string{ratelimit.LimitKindSlidingLog: "list", ratelimit.LimitKindQuota: "hash"}
	quotaLengths   = rapid.SampledFrom([]time.Duration{time.Minute, day, day, 365 * day})
	limitQuantity  = rapid.SampledFrom([]int64{1, 2, 3, 3, 5, 7, 9, 1_000_000, 77_777_777_777, largest})
	drawnLimitName = rapid.SampledFrom(limitNames)
)

// subjects of histories: few, so that they meet, and such as might be taken for each other.
var subjects = []string{"u1", "u1", "u1", "u2", "2001:db8::1:7334"}

// limitKeys are those of limits and receipts that a subject may have.
func limitKeys() (keys []storedKey) {
	for _, receipt := range limitReceipts {
		keys = append(keys, storedKey{fcall.Suffix("receipt", receipt), "string"})
	}
	for _, name := range limitNames {
		keys = append(keys, storedKey{fcall.Suffix("quota", name), "hash"})
		for _, window := range limitWindows {
			for _, kind := range limitKinds {
				keys = append(keys, storedKey{fcall.Suffix(fcall.Suffix(string(kind), window), name), cmp.Or(logKindStored[kind], "string")})
			}
			for _, receipt := range limitReceipts {
				keys = append(keys, storedKey{fcall.Suffix(fcall.Suffix(fcall.Suffix("receipt", window), name), receipt), "string"})
			}
		}
	}
	return keys
}

// setPeriods gives a quota three periods of one length, the middle one about now.
func setPeriods(t *rapid.T, l *model.CheckLimit, length time.Duration) {
	offset := time.Duration(rapid.Int64Range(0, int64(length/time.Microsecond)-1).Draw(t, "offset")) * time.Microsecond
	if rapid.IntRange(0, 3).Draw(t, "same offset") > 0 {
		offset = 0
	}
	periods := rapid.SampledFrom([]time.Duration{0, 0, 0, 0, 0, 1, 1, 2, -1}).Draw(t, "periods")
	l.Window, l.Start = 0, luatest.Start.Truncate(length).Add(-offset+periods*length)
	l.Previous, l.Next, l.After = l.Start.Add(-length), l.Start.Add(length), l.Start.Add(2*length)
}

func drawLimit(t *rapid.T) model.CheckLimit {
	l := model.CheckLimit{
		Kind: string(rapid.SampledFrom(drawnKinds).Draw(t, "kind")), Name: drawnLimitName.Draw(t, "name"),
		Limit: limitQuantity.Draw(t, "limit"), Window: rapid.SampledFrom(limitWindows).Draw(t, "window"),
	}
	if l.Kind == "gcra" && rapid.IntRange(0, 2).Draw(t, "has a burst") == 0 {
		l.Burst = rapid.SampledFrom([]int64{1, 2, 10, 1_000_000, largest}).Draw(t, "burst")
	}
	if l.Kind == "sliding_log" {
		l.Limit = min(l.Limit, 1_000_000)
	}
	return l
}

// drawLimitCost draws a cost that a limit mostly allows.
func drawLimitCost(t *rapid.T, l model.CheckLimit, weight int64) int64 {
	if l.Kind == "sliding_log" {
		return rapid.SampledFrom([]int64{1, 1, 1, 0}).Draw(t, "cost")
	}
	most := cmp.Or(l.Burst, l.Limit) / max(weight, 1)
	return rapid.SampledFrom([]int64{min(1, most), min(1, most), min(2, most), max(most/2, 0), most, 0}).Draw(t, "cost")
}

// drawLimits draws a few limits; calls are of one of them, or of several. Sometimes their limits differ while they share a key.
func drawLimits(t *rapid.T) plan[*ratelimit.Client, *model.Check] {
	limits := rapid.SliceOfN(rapid.Custom(drawLimit), 1, 5).Draw(t, "limits")
	var spans []time.Duration
	for i := range limits {
		l := &limits[i]
		spans = append(spans, l.Window, max(l.Window/time.Duration(l.Limit), time.Microsecond))
		if l.Kind == "quota" {
			spans = append(spans, time.Minute)
		}
	}
	dedups := append([]time.Duration{0, 0, 0, time.Millisecond, 2 * time.Second, 3650 * day}, limitWindows...)
	return plan[*ratelimit.Client, *model.Check]{spans: spans, call: func(t *rapid.T) limitCall {
		subject := rapid.SampledFrom(subjects).Draw(t, "subject")
		one := func() model.CheckLimit {
			l := rapid.SampledFrom(limits).Draw(t, "limit")
			if rapid.IntRange(0, 9).Draw(t, "another limit") == 9 {
				l.Limit = limitQuantity.Draw(t, "of another caller")
				if l.Kind == "sliding_log" {
					l.Limit = min(l.Limit, 1_000_000)
				}
			}
			if l.Kind == "quota" {
				setPeriods(t, &l, quotaLengths.Draw(t, "length"))
			}
			return l
		}
		receipt := rapid.SampledFrom(append([]string{"", "", ""}, limitReceipts...)).Draw(t, "receipt")
		dedup := time.Duration(0)
		if receipt != "" {
			dedup = rapid.SampledFrom(dedups).Draw(t, "dedup")
		}
		which := rapid.IntRange(0, 19).Draw(t, "function")
		if which < 9 {
			l := one()
			l.Cost = drawLimitCost(t, l, 1)
			if rapid.IntRange(0, 29).Draw(t, "above") == 29 && l.Kind != "sliding_log" {
				l.Cost = min(l.Limit+1, largest)
			}
			if l.Kind == "sliding_log" {
				return callLog(subject, l, receipt, dedup)
			}
			return callOne(subject, l, rapid.IntRange(0, 3).Draw(t, "at most") == 3)
		}
		p := checkParams{Subject: fcall.Subject(subject), Receipt: receipt, Dedup: dedup}
		p.Weight = rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 2, 3, 1_000_003, largest}).Draw(t, "weight")
		for range rapid.IntRange(1, 4).Draw(t, "rows") {
			l := one()
			l.Shadow, l.Global = rapid.IntRange(0, 9).Draw(t, "shadow") == 9, rapid.IntRange(0, 4).Draw(t, "global") == 4
			l.Cost = drawLimitCost(t, l, p.Weight)
			if row := rowOf(l); rapid.IntRange(0, 49).Draw(t, "one limit twice") == 49 || !slices.ContainsFunc(p.Limits, func(o checkLimit) bool {
				return o.Kind == row.Kind && o.Name == row.Name && o.Window == row.Window
			}) {
				p.Limits = append(p.Limits, row)
			}
		}
		switch which {
		case 19:
			return callReset(p)
		case 17, 18:
			var left []time.Duration
			if rapid.IntRange(0, 2).Draw(t, "with what it took") > 0 {
				for range p.Limits {
					left = append(left, rapid.SampledFrom(append([]time.Duration{0, time.Millisecond}, limitWindows...)).Draw(t, "left"))
				}
			}
			return callBack(p, rapid.SampledFrom([]time.Duration{0, 0, time.Millisecond, time.Second}).Draw(t, "age"), left)
		case 15, 16:
			p.Look = true
		}
		return callCheck(p)
	}}
}

func rowOf(l model.CheckLimit) checkLimit {
	return checkLimit{
		Kind: ratelimit.LimitKind(l.Kind), Name: l.Name, Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: cost(l.Cost), Shadow: l.Shadow, Global: l.Global,
		Previous: l.Previous, Start: l.Start, Next: l.Next, After: l.After,
	}
}

func modelCheck(p checkParams) model.CheckCall {
	c := model.CheckCall{Weight: p.Weight, Receipt: p.Receipt, Dedup: p.Dedup, Look: p.Look}
	for _, l := range p.Limits {
		c.Limits = append(c.Limits, model.CheckLimit{
			Name: l.Name, Kind: string(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: *l.Cost, Shadow: l.Shadow, Global: l.Global,
			Previous: l.Previous, Start: l.Start, Next: l.Next, After: l.After,
		})
	}
	return c
}

// one is a call of a function of one limit.
type one struct {
	model.CheckLimit
	AtMost bool
}

type oneResult struct {
	Allowed                bool
	Remaining              int64
	ResetAfter, RetryAfter time.Duration
	Taken                  int64
	At                     time.Time
}

// mayReturn reports whether what a wrong clock has left counts again once the clock has caught up with it: a refused call leaves it. Then
// retry_after is that of the other limits. It also reports whether a quota's periods are over by then.
func mayReturn(m *model.Check, subject string, limits []model.CheckLimit, rows []model.CheckRow, retry time.Duration) bool {
	ends := m.Expiries(subject)
	for i, row := range rows {
		l := limits[i]
		if l.Kind == "quota" && !m.Now().Add(retry).Before(l.After) {
			return true
		}
		if suffix := fcall.Suffix(fcall.Suffix(l.Kind, l.Window), l.Name); row.ResetAfter == 0 && ends[suffix] > m.Now().UnixMilli() {
			return true
		}
	}
	return false
}

func callOne(subject string, l model.CheckLimit, atMost bool) limitCall {
	p, of := one{l, atMost}, fcall.Subject(subject)
	c := limitCall{function: l.Kind, subject: subject, params: p}
	switch l.Kind {
	case "fixed_window":
		c.queue = queued((*ratelimit.Client).QueueFixedWindow, ratelimit.FixedWindowParams{Subject: of, Name: l.Name, Limit: l.Limit, Window: l.Window, Cost: cost(l.Cost), AtMost: atMost})
	case "sliding_counter":
		c.queue = queued((*ratelimit.Client).QueueSlidingCounter, ratelimit.SlidingCounterParams{Subject: of, Name: l.Name, Limit: l.Limit, Window: l.Window, Cost: cost(l.Cost), AtMost: atMost})
	case "gcra":
		c.queue = queued((*ratelimit.Client).QueueGCRA, ratelimit.GCRAParams{Subject: of, Name: l.Name, Limit: l.Limit, Period: l.Window, Burst: l.Burst, Cost: cost(l.Cost), AtMost: atMost})
	case "quota":
		c.queue = queued((*ratelimit.Client).QueueQuota, ratelimit.QuotaParams{
			Subject: of, Name: l.Name, Limit: l.Limit, Previous: l.Previous, Start: l.Start, Next: l.Next, After: l.After, Cost: cost(l.Cost), AtMost: atMost,
		})
	}
	c.answer = func(m *model.Check) answer {
		decide := m.One
		if atMost {
			decide = m.AtMost
		}
		r, taken, changed, err := decide(subject, l)
		if err != nil {
			return answer{err: fcall.ErrArgument}
		}
		at := time.UnixMicro(0)
		if atMost || l.Kind == "quota" {
			at = m.Now()
		}
		want := oneResult{r.Allowed, r.Remaining, r.ResetAfter, r.RetryAfter, taken, timeOf(at)}
		a := answer{changed: changed, retry: r.RetryAfter, tick: l.Tick()}
		a.refused = !r.Allowed && !mayReturn(m, subject, []model.CheckLimit{l}, []model.CheckRow{r}, r.RetryAfter)
		a.reply, a.passes = replyOf(l.Kind, want)
		return a
	}
	return c
}

// timeOf is a time as a result has it: the epoch is none.
func timeOf(at time.Time) time.Time {
	if at.UnixMicro() == 0 {
		return time.Time{}
	}
	return at
}

// replyOf is an answer as the function of a kind gives it, and what tells whether another one passed.
func replyOf(kind string, r oneResult) (reply any, passes func(any) bool) {
	switch kind {
	case "fixed_window":
		return ratelimit.FixedWindowResult(r), func(reply any) bool { return reply.(ratelimit.FixedWindowResult).Allowed }
	case "sliding_counter":
		return ratelimit.SlidingCounterResult(r), func(reply any) bool { return reply.(ratelimit.SlidingCounterResult).Allowed }
	case "gcra":
		return ratelimit.GCRAResult(r), func(reply any) bool { return reply.(ratelimit.GCRAResult).Allowed }
	}
	return ratelimit.QuotaResult(r), func(reply any) bool { return reply.(ratelimit.QuotaResult).Allowed }
}

func callLog(subject string, l model.CheckLimit, receipt string, dedup time.Duration) limitCall {
	p := logParams{Subject: fcall.Subject(subject), Name: l.Name, Limit: l.Limit, Window: l.Window, Receipt: receipt, Dedup: dedup, Cost: cost(l.Cost)}
	return limitCall{
		function: "sliding_log", subject: subject, params: p, queue: queued((*ratelimit.Client).QueueSlidingLog, p),
		answer: func(m *model.Check) answer {
			r, duplicate, count, changed := m.SlidingLog(subject, l, receipt, dedup)
			return answer{
				reply:   logResult{Allowed: r.Allowed, Duplicate: duplicate, Count: count, Remaining: r.Remaining, ResetAfter: r.ResetAfter, RetryAfter: r.RetryAfter, At: m.Now()},
				changed: changed, refused: !r.Allowed && receipt == "" && !mayReturn(m, subject, []model.CheckLimit{l}, []model.CheckRow{r}, r.RetryAfter), retry: r.RetryAfter, tick: time.Microsecond,
				passes: func(reply any) bool { return reply.(logResult).Allowed },
			}
		},
	}
}

func callCheck(p checkParams) limitCall {
	c, subject := modelCheck(p), string(p.Subject)
	return limitCall{
		function: "check", subject: subject, params: p, queue: queued((*ratelimit.Client).QueueCheck, p.Packed()),
		answer: func(m *model.Check) answer {
			remembered := m.Remembers(subject, p.Receipt)
			r, changed, err := m.Check(subject, c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			want := checkResult{Allowed: r.Allowed, Duplicate: r.Duplicate, Refused: r.Refused, RetryAfter: r.RetryAfter, At: r.At}
			tick := time.Millisecond
			for i, row := range r.Limits {
				if want.Limits = append(want.Limits, checkRow(row)); !row.Allowed && !c.Limits[i].Shadow && row.RetryAfter == r.RetryAfter {
					tick = min(tick, c.Limits[i].Tick())
				}
			}
			return answer{
				reply: want, changed: changed,
				refused: !r.Allowed && !remembered && !mayReturn(m, subject, c.Limits, r.Limits, r.RetryAfter), retry: r.RetryAfter, tick: tick,
				passes: func(reply any) bool { return reply.(checkResult).Allowed },
			}
		},
	}
}

func callBack(p checkParams, age time.Duration, left []time.Duration) limitCall {
	c := modelCheck(p)
	var taken []ratelimit.RefundTaken
	for _, l := range left {
		taken = append(taken, ratelimit.RefundTaken{Left: l})
	}
	params := ratelimit.RefundParams{
		Subject: p.Subject, Limits: ratelimit.PackLimit(p.Limits...), Weight: p.Weight, Receipt: p.Receipt, Age: age, Taken: ratelimit.PackRefundTaken(taken...),
	}
	return made("refund", p.Subject, params, (*ratelimit.Client).QueueRefund, func(m *model.Check, _ ratelimit.RefundParams) (ratelimit.RefundResult, bool, error) {
		known := m.Remembers(string(p.Subject), p.Receipt)
		refunded, err := m.Refund(string(p.Subject), c, time.Time{}, age, left)
		return ratelimit.RefundResult{Refunded: refunded}, refunded || p.Receipt != "" && known, err
	})
}

func callReset(p checkParams) limitCall {
	params := ratelimit.ResetParams{Subject: p.Subject, Limits: ratelimit.PackLimit(p.Limits...), Receipt: p.Receipt}
	return made("reset", p.Subject, params, (*ratelimit.Client).QueueReset, func(m *model.Check, _ ratelimit.ResetParams) (ratelimit.ResetResult, bool, error) {
		existed, err := m.Reset(string(p.Subject), modelCheck(p).Limits, p.Receipt)
		return ratelimit.ResetResult{Existed: existed}, existed, err
	})
}

// limitInvariant knows no model: while the clock does not go back and nothing is refunded, no window of a sliding_log has more admissions
// than the limit of any of its calls, and no window of another kind more than twice its limit, or a bucket's burst and what it gains.
func limitInvariant() func(time.Time, string, any, any) string {
	type taken struct {
		at   time.Time
		cost int64
	}
	spent, greatest, clock := map[[2]string][]taken{}, map[[2]string]int64{}, time.Time{}
	return func(now time.Time, subject string, params, reply any) string {
		if now.Before(clock) {
			clear(spent)
		}
		clock = now
		took := func(l model.CheckLimit, n int64) string {
			if n == 0 || l.Kind == "quota" {
				return ""
			}
			key := [2]string{subject, fmt.Sprint(l.Kind, l.Window, l.Name)}
			at, sum, window, most := now, int64(0), l.Window, l.Limit
			if l.Kind != "sliding_log" {
				at, window, most = now.Truncate(time.Millisecond), (l.Window + time.Millisecond - 1).Truncate(time.Millisecond), l.Limit+cmp.Or(l.Burst, l.Limit)
			}
			spent[key] = append(spent[key], taken{at, n})
			most = max(most, greatest[key]) // other callers may have had more
			greatest[key] = most
			for _, one := range slices.Backward(spent[key]) {
				if at.Sub(one.at) >= window {
					break
				}
				sum += one.cost
			}
			if sum > most {
				return fmt.Sprintf("%s: %d taken within %s, and %d is the most", l.Kind, sum, window, most)
			}
			return ""
		}
		switch p := params.(type) {
		case one:
			switch r := reply.(type) {
			case ratelimit.FixedWindowResult:
				return took(p.CheckLimit, r.Taken)
			case ratelimit.SlidingCounterResult:
				return took(p.CheckLimit, r.Taken)
			case ratelimit.GCRAResult:
				return took(p.CheckLimit, r.Taken)
			}
		case logParams:
			if r := reply.(logResult); r.Allowed && !r.Duplicate {
				return took(model.CheckLimit{Kind: "sliding_log", Name: p.Name, Limit: p.Limit, Window: p.Window}, *p.Cost)
			}
		case checkParams:
			r := reply.(checkResult)
			refused := false
			for i, row := range r.Limits {
				l := modelCheck(p).Limits[i]
				refused = refused || !row.Allowed && !l.Shadow
				if n := l.Cost * max(p.Weight, 1); r.Allowed && row.Allowed && !r.Duplicate && !p.Look {
					if l.Kind == "sliding_log" {
						n = l.Cost
					}
					if problem := took(l, n); problem != "" {
						return fmt.Sprintf("limit %d: %s", i, problem)
					}
				}
			}
			if len(r.Limits) > 0 && r.Allowed == refused {
				return "the call is not allowed exactly if each of its limits allows"
			}
		case ratelimit.RefundParams, ratelimit.ResetParams:
			clear(spent)
		}
		return ""
	}
}

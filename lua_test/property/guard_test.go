package property_test

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type guardedCall = call[guarded, *model.Guard]

var guardFamily = family[guarded, *model.Guard]{
	name:  "guard",
	suite: suites.Guards,
	model: model.NewGuard,
	keys: append(
		append(append(limitKeys(), placeKeys()...), costKeys([]string{"i1", "i2", "i3", "i4", "i5"})...),
		storedKey{"block", "string"}, storedKey{"attempts", "zset"}, storedKey{"strikes", "list"},
		storedKey{"challenges", "hash"}, storedKey{"left:h1", "string"}, storedKey{"left:h2", "string"}, storedKey{"left:h3", "string"},
	),
	share: 4,
	draw:  drawGuard,
}

// placeKeys are those of places: of the same names as other limits.
func placeKeys() (keys []storedKey) {
	for _, name := range limitNames[1:] {
		for _, lease := range limitWindows[:3] {
			keys = append(keys, storedKey{fcall.Suffix(fcall.Suffix("concurrency", lease), name), "zset"})
		}
	}
	return keys
}

// guardKinds are those of check and places.
var guardKinds = append(slices.Clone(drawnKinds), ratelimit.LimitKindConcurrency, ratelimit.LimitKindConcurrency)

// drawGuard draws what an endpoint has, one or two of them, and calls of requests to them and of those who act beside.
func drawGuard(t *rapid.T) plan[guarded, *model.Guard] {
	windows := limitWindows[:3]
	span := rapid.SampledFrom(windows)
	limit := rapid.Custom(func(t *rapid.T) model.CheckLimit {
		kind := string(rapid.SampledFrom(guardKinds).Draw(t, "kind"))
		l := model.CheckLimit{
			Kind: kind, Name: rapid.SampledFrom(limitNames[1:][:2]).Draw(t, "name"),
			Limit: rapid.SampledFrom([]int64{1, 2, 3, 7, 2_000_000, largest}).Draw(t, "limit"), Window: span.Draw(t, "window"), Cost: rapid.SampledFrom([]int64{1, 1, 1, 1, 0}).Draw(t, "cost"),
			Shadow: rapid.IntRange(0, 4).Draw(t, "shadow") == 4, Global: rapid.IntRange(0, 3).Draw(t, "global") == 3,
		}
		if kind == "gcra" {
			l.Burst = rapid.SampledFrom([]int64{0, 0, 2, 10, largest}).Draw(t, "burst")
		}
		if kind == "sliding_log" || kind == "concurrency" {
			l.Limit = min(l.Limit, 1_000_000)
		}
		if kind == "quota" {
			setPeriods(t, &l, quotaLengths.Draw(t, "length"))
		}
		if kind != "sliding_log" && l.Cost == 1 {
			l.Cost = min(l.Limit, rapid.SampledFrom([]int64{1, 1, 2}).Draw(t, "cost"))
			if l.Burst > 0 {
				l.Cost = min(l.Cost, l.Burst)
			}
		}
		return l
	})
	same := func(l model.CheckLimit) string { return l.Kind + l.Name }
	endpoint := rapid.Custom(func(t *rapid.T) model.AdmitCall {
		c := model.AdmitCall{Limits: rapid.SliceOfNDistinct(limit, 0, 4, same).Draw(t, "limits"), Required: rapid.IntRange(0, 4).Draw(t, "required") == 4}
		if rapid.IntRange(0, 2).Draw(t, "lean") == 2 {
			c.Required = false
			return c
		}
		for range rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "budgets") {
			b := model.CostLimit{Unit: rapid.SampledFrom([]string{"", "", "tokens"}).Draw(t, "unit")}
			b.Budget, b.Window = rapid.SampledFrom([]int64{0, 5, 10, 30}).Draw(t, "budget"), span.Draw(t, "window")
			if rapid.IntRange(0, 2).Draw(t, "calendar") == 0 {
				drawPeriods(t, &b, windows)
			}
			if alike := func(o model.CostLimit) bool { return o.Unit == b.Unit && o.Window == b.Window && o.Name == b.Name }; !slices.ContainsFunc(c.Budgets, alike) {
				c.Budgets = append(c.Budgets, b)
			}
		}
		var tiers []attemptTier
		for range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "tiers") {
			tiers = append(tiers, attemptTier{Threshold: rapid.Int64Range(1, 6).Draw(t, "threshold"), Window: span.Draw(t, "window"), Block: span.Draw(t, "block")})
		}
		c.Attempt.Tiers = abuse.PackAttemptTiers(tiers...)
		c.Attempt.Escalation = escalation(rapid.SliceOfN(span, 0, 2).Draw(t, "escalation"))
		c.Attempt.StrikeMemory = rapid.SampledFrom([]time.Duration{0, 10 * time.Second}).Draw(t, "memory")
		c.CountRefused = rapid.Bool().Draw(t, "count_refused")
		return c
	})
	endpoints := rapid.SliceOfN(endpoint, 1, 2).Draw(t, "endpoints")
	tokens, payloads := rapid.SampledFrom([]string{"t1", "t2", "t3"}), rapid.SampledFrom([]string{"", "", "chat"})
	reservations := rapid.SampledFrom([]string{"i1", "i2", "i3", "i4", "i5"})
	holders, amounts := []string{"h1", "h2", "h3"}, rapid.SampledFrom([]int64{0, 1, 3, 5, 11})
	return plan[guarded, *model.Guard]{spans: windows, call: func(t *rapid.T) guardedCall {
		subject := rapid.SampledFrom(subjects[:4]).Draw(t, "subject")
		amount := amounts.Draw(t, "amount")
		switch rapid.IntRange(0, 40).Draw(t, "function") {
		default:
			c := rapid.SampledFrom(endpoints).Draw(t, "endpoint")
			c.Receipt = rapid.SampledFrom([]string{"", "", "r1", "r2", "\x00\xff"}).Draw(t, "receipt")
			c.Dedup = rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Millisecond, time.Minute}).Draw(t, "dedup")
			c.Reservation = reservations.Draw(t, "reservation")
			c.Weight = drawWeight(t, c.Limits)
			c.Holder = rapid.SampledFrom([]string{"h1", "h1", "h2", "h3", "h4", ""}).Draw(t, "holder")
			c.UnitEstimate, c.Unreserved = amounts.Draw(t, "amount in units"), rapid.IntRange(0, 4).Draw(t, "unreserved") == 4
			c.Estimate, c.Hold = amount, rapid.SampledFrom([]time.Duration{0, 0, time.Second}).Draw(t, "hold")
			if rapid.IntRange(0, 2).Draw(t, "challenged") == 2 {
				c.Challenge, c.Payload = tokens.Draw(t, "challenge"), payloads.Draw(t, "payload")
			}
			if rapid.IntRange(0, 3).Draw(t, "limits only") == 3 {
				return callGuardCheck(subject, model.AdmitCall{Limits: c.Limits, Weight: c.Weight, Holder: c.Holder})
			}
			return callAdmit(subject, c)
		case 17, 18, 19, 20, 21:
			return callRefund(subject, rapid.IntRange(0, 6).Draw(t, "part"))
		case 30, 31, 32:
			return callTake(subject, limit.Draw(t, "taken"), rapid.SampledFrom([]int64{1, 2, 5, 100, largest}).Draw(t, "most"))
		case 33, 34, 35, 36, 37, 38, 39, 40:
			limits := drawPlaces(t, span)
			holder := rapid.SampledFrom(holders).Draw(t, "of")
			switch rapid.IntRange(0, 3).Draw(t, "of places") {
			case 0:
				return callRenew(subject, limits, holder)
			case 1:
				return callRelease(subject, limits, holder, 0)
			default:
				return callRelease(subject, limits, holder, span.Draw(t, "mark"))
			}
		case 22, 23:
			if budgets := rapid.SampledFrom(endpoints).Draw(t, "settled budgets").Budgets; len(budgets) > 0 {
				penalty := rapid.SampledFrom([]time.Duration{0, 0, time.Minute}).Draw(t, "penalty")
				return callGuardSettle(subject, budgets, reservations.Draw(t, "settled"), amount, amounts.Draw(t, "amount in units"), penalty)
			}
			return beside(suites.CostOf, (*model.Guard).ItsCosts, callCostReset(subject, []model.CostLimit{{Window: time.Second}}))
		case 24:
			if budgets := rapid.SampledFrom(endpoints).Draw(t, "of cost").Budgets; len(budgets) > 0 {
				return beside(suites.CostOf, (*model.Guard).ItsCosts, callSettle(subject, reservations.Draw(t, "settled"), amount, 0, budgets, 0))
			}
			return beside(suites.CostOf, (*model.Guard).ItsCosts, callCostReset(subject, []model.CostLimit{{Window: time.Second, Unit: "tokens"}}))
		case 25, 26, 27:
			return beside(suites.ChallengesOf, (*model.Guard).ItsChallenges, issueOne(issueParams{Subject: fcall.Subject(subject), Token: tokens.Draw(t, "token"), TTL: span.Draw(t, "ttl"), Payload: payloads.Draw(t, "payload")}))
		case 28:
			return beside(suites.AbuseOf, (*model.Guard).ItsAttempts, blockByHand(abuse.BlockParams{Subject: fcall.Subject(subject), Duration: span.Draw(t, "duration")}))
		case 29:
			return beside(suites.AbuseOf, (*model.Guard).ItsAttempts, liftBlock(abuse.UnblockParams{Subject: fcall.Subject(subject), Pardon: rapid.Bool().Draw(t, "pardon")}))
		}
	}}
}

// beside is a call of a library that acts on the same keys.
func beside[C, M any](client func(guarded) C, part func(*model.Guard) M, c call[C, M]) guardedCall {
	return guardedCall{
		function: c.function, subject: c.subject, params: c.params,
		queue: func(ctx context.Context, g guarded, pipe redis.Pipeliner) func() (any, error) {
			return c.queue(ctx, client(g), pipe)
		},
		answer: func(m *model.Guard) answer { return c.answer(part(m)) },
	}
}

// onGuard is a call of library guard itself.
func onGuard(c call[*guard.Client, *model.Guard]) guardedCall {
	return beside(suites.GuardOf, func(m *model.Guard) *model.Guard { return m }, c)
}

func admitOf(subject string, c model.AdmitCall) admitParams {
	p := admitParams{
		Subject: fcall.Subject(subject), Limits: limitsOf(c.Limits), Weight: c.Weight, Receipt: c.Receipt, Dedup: c.Dedup, Estimate: fcall.Micros(c.Estimate), Hold: c.Hold,
		Reservation: c.Reservation, StrikeMemory: c.Attempt.StrikeMemory, CountRefused: c.CountRefused, Challenge: c.Challenge, ChallengeRequired: c.Required, Payload: c.Payload, Holder: c.Holder,
	}
	p.Budgets = guardBudgetsOf(c.Budgets)
	if c.UnitEstimate > 0 {
		p.Units = []guard.UnitAmount{{Unit: "tokens", Amount: c.UnitEstimate, Unreserved: c.Unreserved}}
	}
	for _, tier := range c.Attempt.Tiers.Each() {
		p.Tiers = append(p.Tiers, guard.AdmitTiers(tier))
	}
	for _, e := range c.Attempt.Escalation.Each() {
		p.Escalation = append(p.Escalation, guard.AdmitEscalation(e))
	}
	return p
}

func guardBudgetsOf(budgets []model.CostLimit) (all []guard.Budget) {
	for _, b := range budgets {
		all = append(all, guard.Budget{Budget: fcall.Micros(b.Budget), Window: b.Window, Unit: b.Unit, Name: b.Name, Previous: b.Previous, Start: b.Start, Next: b.Next, After: b.After})
	}
	return all
}

func limitsOf(limits []model.CheckLimit) (all []admitLimit) {
	for _, l := range limits {
		all = append(all, admitLimit{
			Name: l.Name, Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: cost(l.Cost), Shadow: l.Shadow, Global: l.Global,
			Previous: l.Previous, Start: l.Start, Next: l.Next, After: l.After,
		})
	}
	return all
}

func admitAnswer(r model.AdmitResult) admitResult {
	want := suites.Answered(admitResult{
		Allowed: r.Allowed, Duplicate: r.Duplicate, Reason: guard.AdmitReason(r.Reason), Tier: r.Tier, Refused: r.Refused, Strikes: r.Strikes, RetryAfter: r.RetryAfter, At: r.At,
		Challenge: guard.AdmitChallenge(r.Challenge),
	})
	for _, row := range r.Limits {
		want.Limits = append(want.Limits, admitRow(row))
	}
	for _, row := range r.Budgets {
		want.Budgets = append(want.Budgets, admitBudget{
			Allowed: row.Allowed, Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining), Charged: fcall.Micros(row.Charged), RetryAfter: row.RetryAfter,
		})
	}
	for _, row := range r.Tiers {
		want.Tiers = append(want.Tiers, admitTier(row))
	}
	return want
}

func callAdmit(subject string, c model.AdmitCall) guardedCall {
	p := admitOf(subject, c)
	return onGuard(call[*guard.Client, *model.Guard]{
		function: "admit", subject: subject, params: p, queue: queued((*guard.Client).QueueAdmit, p.Packed()),
		answer: func(m *model.Guard) answer {
			remembered := m.Remembers(subject, c.Receipt)
			r, changed, err := m.Admit(subject, c)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			a := answer{reply: admitAnswer(r), changed: changed, retry: r.RetryAfter, tick: time.Millisecond, passes: func(reply any) bool { return reply.(admitResult).Allowed }}
			if !r.Allowed {
				a.touches = func(suffix string) bool {
					return slices.Contains([]string{"block", "attempts", "strikes"}, suffix)
				}
			}
			if waits(c, r) && !remembered && m.Covers(subject, c.Budgets, r.RetryAfter) && !mayReturn(m.ItsLimits(), subject, c.Limits, r.Limits, r.RetryAfter) {
				a.refused, a.tick = true, admitTick(c, r)
			}
			return a
		},
	})
}

// callGuardCheck is a call of check, which answers as admit does.
func callGuardCheck(subject string, c model.AdmitCall) guardedCall {
	call := callAdmit(subject, c)
	p := guard.CheckParams{Subject: fcall.Subject(subject), Limits: guard.PackLimit(limitsOf(c.Limits)...), Weight: c.Weight, Holder: c.Holder}
	call.function, call.params = "check", p
	call.queue = func(ctx context.Context, g guarded, pipe redis.Pipeliner) func() (any, error) {
		return queued((*guard.Client).QueueCheck, p)(ctx, g.Guard, pipe)
	}
	of := call.answer
	call.answer = func(m *model.Guard) answer {
		a := of(m)
		if r, ok := a.reply.(admitResult); ok {
			if !c.Timed() {
				r.At = time.Time{}
			}
			a.reply = guard.CheckResult{
				Allowed: r.Allowed, Reason: guard.CheckReason(r.Reason), Tier: r.Tier, Refused: r.Refused, RetryAfter: r.RetryAfter, At: r.At, Limits: r.Limits,
			}
			a.passes = func(reply any) bool { return reply.(guard.CheckResult).Allowed }
		}
		return a
	}
	return call
}

// waits reports whether a call passes after retry_after: a block hides what else refuses, a challenge may end meanwhile, and
// each try is an attempt.
func waits(c model.AdmitCall, r model.AdmitResult) bool {
	large := slices.ContainsFunc(c.Budgets, func(b model.CostLimit) bool { return c.Amount(b.Unit) > b.Budget })
	return !r.Allowed && r.Reason != "blocked" && c.Attempt.Tiers.Len() == 0 && r.Challenge == "none" && !large
}

// admitTick is the tick of what waits longest: a limit's own, a budget's microsecond.
func admitTick(c model.AdmitCall, r model.AdmitResult) time.Duration {
	for i, row := range r.Limits {
		if !row.Allowed && !c.Limits[i].Shadow && row.RetryAfter == r.RetryAfter && c.Limits[i].Tick() == time.Millisecond {
			return time.Millisecond
		}
	}
	return time.Microsecond
}

func callTake(subject string, l model.CheckLimit, most int64) guardedCall {
	p := guard.TakeParams{Subject: fcall.Subject(subject), Most: most, Limits: guard.PackLimit(limitsOf([]model.CheckLimit{l})...)}
	return onGuard(call[*guard.Client, *model.Guard]{
		function: "take", subject: subject, params: p, queue: queued((*guard.Client).QueueTake, p),
		answer: func(m *model.Guard) answer {
			r, changed, err := m.Take(subject, l, most)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			a := answer{reply: guard.TakeResult(r), changed: changed, retry: r.RetryAfter, tick: l.Tick(), passes: func(reply any) bool { return reply.(guard.TakeResult).Allowed }}
			row := model.CheckRow{Allowed: r.Allowed, Remaining: r.Remaining, ResetAfter: r.ResetAfter, RetryAfter: r.RetryAfter}
			a.refused = !r.Allowed && !mayReturn(m.ItsLimits(), subject, []model.CheckLimit{l}, []model.CheckRow{row}, r.RetryAfter)
			return a
		},
	})
}

// drawWeight draws a weight that most limits allow: sometimes the largest one that all do.
func drawWeight(t *rapid.T, limits []model.CheckLimit) int64 {
	most := int64(largest)
	for _, l := range limits {
		if !l.Shadow && l.Cost > 0 && l.Kind != "sliding_log" {
			most = min(most, cmp.Or(l.Burst, l.Limit)/l.Cost)
		}
	}
	return rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 0, 1, 2, max(most/3, 1), most}).Draw(t, "weight")
}

// drawPlaces draws one or both of the limits that an endpoint may have of kind concurrency.
func drawPlaces(t *rapid.T, lease *rapid.Generator[time.Duration]) (limits []model.CheckLimit) {
	for _, name := range rapid.SampledFrom([][]string{limitNames[1:][:1], limitNames[1:][1:2], limitNames[1:][:2]}).Draw(t, "places") {
		limits = append(limits, model.CheckLimit{Name: name, Kind: "concurrency", Limit: 3, Window: lease.Draw(t, "lease")})
	}
	return limits
}

func callRenew(subject string, limits []model.CheckLimit, holder string) guardedCall {
	p := guard.RenewParams{Subject: fcall.Subject(subject), Limits: guard.PackLimit(limitsOf(limits)...), Holder: holder}
	return onGuard(made("renew", p.Subject, p, (*guard.Client).QueueRenew, func(m *model.Guard, _ guard.RenewParams) (guard.RenewResult, bool, error) {
		lost, changed := m.RenewPlaces(subject, limits, holder)
		return guard.RenewResult{Lost: lost}, changed, nil
	}))
}

// callRelease releases the places of a holder, and marks it if it lacks one; a zero mark is absent.
func callRelease(subject string, limits []model.CheckLimit, holder string, mark time.Duration) guardedCall {
	p := guard.ReleaseParams{Subject: fcall.Subject(subject), Limits: guard.PackLimit(limitsOf(limits)...), Holder: holder, Mark: mark}
	return onGuard(made("release", p.Subject, p, (*guard.Client).QueueRelease, func(m *model.Guard, _ guard.ReleaseParams) (guard.ReleaseResult, bool, error) {
		n, changed := m.ReleasePlaces(subject, limits, holder, mark)
		return guard.ReleaseResult{Released: n}, changed, nil
	}))
}

func callGuardSettle(subject string, budgets []model.CostLimit, reservation string, actual, inUnits int64, penalty time.Duration) guardedCall {
	p := guard.SettleParams{
		Subject: fcall.Subject(subject), Budgets: guard.PackBudget(guardBudgetsOf(budgets)...), Reservation: reservation, Actual: fcall.Micros(actual), Penalty: penalty,
		Units: guard.PackUnitAmount(guard.UnitAmount{Unit: "tokens", Amount: inUnits}),
	}
	return onGuard(made("settle", p.Subject, p, (*guard.Client).QueueSettle, func(m *model.Guard, _ guard.SettleParams) (guard.SettleResult, bool, error) {
		r, changed, err := m.ItsCosts().Settle(subject, reservation, actual, inUnits, budgets, penalty)
		want := guard.SettleResult{Outcome: guard.SettleOutcome(r.Outcome), Exceeded: r.Exceeded, Penalty: r.Penalty}
		for _, row := range r.Limits {
			want.Budgets = append(want.Budgets, guard.SettleBudgetsResult{Spent: fcall.Micros(row.Spent), Remaining: fcall.Micros(row.Remaining)})
		}
		return want, changed, err
	}))
}

// callRefund refunds the charges of the subject's last admitted call, or a part: the model knows them once the call is due.
// Before the model's first answer it refunds what a call at the start might have charged.
func callRefund(subject string, part int) guardedCall {
	early := model.RefundCall{
		Limits: []model.CheckLimit{{Name: "a", Kind: "sliding_log", Limit: 3, Window: time.Second, Cost: 1}}, Left: []time.Duration{time.Second},
		At: luatest.Start,
	}
	p := &suites.RefundParams{Subject: fcall.Subject(subject)}
	var due *model.RefundCall
	decide := func(c model.RefundCall) {
		switch part {
		case 1:
			c.Receipt = ""
		case 2:
			c.Limits, c.Left = c.Limits[:len(c.Limits)/2], c.Left[:len(c.Limits)/2]
		case 3:
			c.Challenge = ""
		case 4:
			c.Age = 0
		case 5:
			c.Age, c.Weight = min(c.Age+time.Second, century), 0
		}
		due = &c
		*p = suites.RefundParams{
			Subject: p.Subject, Limits: limitsOf(c.Limits), Left: c.Left, Weight: c.Weight, At: c.At, Age: c.Age,
			Receipt: c.Receipt, Challenge: c.Challenge, Payload: c.Payload, Holder: c.Holder,
		}
	}
	return guardedCall{
		function: "refund", subject: subject, params: p,
		queue: func(ctx context.Context, g guarded, pipe redis.Pipeliner) func() (any, error) {
			if due == nil {
				decide(early)
			}
			return queued((*guard.Client).QueueRefund, p.Packed())(ctx, g.Guard, pipe)
		},
		answer: func(m *model.Guard) answer {
			if due == nil {
				c := early
				if a, ok := m.Admitted(subject); ok {
					c = a.RefundOf(m.Now())
				}
				decide(c)
			}
			done, changed, err := m.Refund(subject, *due)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{reply: guard.RefundResult{Refunded: done}, changed: changed}
		},
	}
}

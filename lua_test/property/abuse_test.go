package property_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type abuseCall = call[*abuse.Client, *model.Abuse]

var abuseFamily = family[*abuse.Client, *model.Abuse]{
	name:  "abuse",
	suite: suites.Abusers,
	model: model.NewAbuse,
	keys:  []storedKey{{"block", "string"}, {"attempts", "zset"}, {"strikes", "list"}},
	draw:  drawAbuse,
}

func drawAbuse(t *rapid.T) plan[*abuse.Client, *model.Abuse] {
	spans := []time.Duration{time.Millisecond, 1500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute, time.Hour}
	span := rapid.SampledFrom(spans)
	block := rapid.SampledFrom(spans[1:])
	// Some histories have few blocks, so that one subject makes many attempts.
	patient, few := rapid.IntRange(0, 2).Draw(t, "patient") == 2, subjects
	thresholds := []int64{1, 2, 2, 3, 3, 4, 6, 14, 27, 10_000}
	if patient {
		few, thresholds = subjects[:1], []int64{14, 20, 27, 40, 10_000}
	}
	tiers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) attemptTier {
		return attemptTier{
			Threshold: rapid.SampledFrom(thresholds).Draw(t, "threshold"),
			Window:    span.Draw(t, "window"), Block: block.Draw(t, "block"),
		}
	}), 1, 4)
	memory := rapid.SampledFrom([]time.Duration{0, 0, time.Minute, 10 * time.Second, time.Millisecond})
	generation := rapid.Custom(func(t *rapid.T) attemptParams {
		p := attemptParams{Tiers: abuse.PackAttemptTiers(tiers.Draw(t, "tiers")...), StrikeMemory: memory.Draw(t, "memory")}
		var escalation []abuse.AttemptEscalation
		for _, d := range rapid.SliceOfN(block, 0, 3).Draw(t, "escalation") {
			escalation = append(escalation, abuse.AttemptEscalation{Block: d})
		}
		p.Escalation = abuse.PackAttemptEscalation(escalation...)
		return p
	})
	// One or two generations of a service, or each call another.
	generations := rapid.OneOf(rapid.SliceOfN(generation, 1, 2), rapid.Just[[]attemptParams](nil)).Draw(t, "generations")
	return plan[*abuse.Client, *model.Abuse]{spans: spans, call: func(t *rapid.T) abuseCall {
		subject := fcall.Subject(rapid.SampledFrom(few).Draw(t, "subject"))
		from := generation
		if generations != nil {
			from = rapid.SampledFrom(generations)
		}
		p := from.Draw(t, "generation")
		p.Subject = subject
		switch rapid.IntRange(0, 24).Draw(t, "function") {
		default:
			return tryOnce(p)
		case 19, 20, 21:
			status := abuse.StatusParams{Subject: subject, StrikeMemory: p.StrikeMemory}
			var tiers []abuse.StatusTiers
			for _, tier := range p.Tiers.Each()[rapid.IntRange(0, p.Tiers.Len()).Draw(t, "from"):] {
				tiers = append(tiers, abuse.StatusTiers{Threshold: tier.Threshold, Window: tier.Window})
			}
			status.Tiers = abuse.PackStatusTiers(tiers...)
			return lookAtStatus(status)
		case 22:
			return forgiveAttempts(abuse.ForgiveParams{Subject: subject})
		case 23:
			return blockByHand(abuse.BlockParams{Subject: subject, Duration: block.Draw(t, "duration"), Reason: rapid.SampledFrom([]string{"", "why", "tier 2"}).Draw(t, "reason")})
		case 24:
			return liftBlock(abuse.UnblockParams{Subject: subject, Pardon: rapid.Bool().Draw(t, "pardon")})
		}
	}}
}

func tryOnce(p attemptParams) abuseCall {
	c := model.AttemptCall{StrikeMemory: p.StrikeMemory}
	for _, tier := range p.Tiers.Each() {
		c.Tiers = append(c.Tiers, model.AbuseTier(tier))
	}
	for _, e := range p.Escalation.Each() {
		c.Escalation = append(c.Escalation, e.Block)
	}
	return abuseCall{
		function: "attempt", subject: string(p.Subject), params: p,
		queue: queued((*abuse.Client).QueueAttempt, p),
		answer: func(m *model.Abuse) answer {
			r, changed := m.Attempt(string(p.Subject), c)
			want := attemptResult{Allowed: r.Allowed, Reason: abuse.AttemptReason(r.Reason), Tier: r.Tier, RetryAfter: r.RetryAfter, Strikes: r.Strikes}
			for i := range r.Count {
				want.Tiers = append(want.Tiers, attemptRow{Count: r.Count[i], Remaining: r.Remaining[i]})
			}
			return answer{
				reply: want, changed: changed,
				// An attempt that starts a block is refused and recorded. After the block an attempt is judged, and may start another block.
				refused: r.Reason == "blocked", retry: r.RetryAfter, tick: time.Millisecond,
				passes: func(reply any) bool { return reply.(attemptResult).Reason != abuse.AttemptReasonBlocked },
			}
		},
	}
}

func lookAtStatus(p abuse.StatusParams) abuseCall {
	var tiers []model.AbuseTier
	for _, tier := range p.Tiers.Each() {
		tiers = append(tiers, model.AbuseTier{Threshold: tier.Threshold, Window: tier.Window})
	}
	return abuseCall{
		function: "status", subject: string(p.Subject), params: p,
		queue: queued((*abuse.Client).QueueStatus, p),
		answer: func(m *model.Abuse) answer {
			r := m.Status(string(p.Subject), tiers, p.StrikeMemory)
			return answer{reply: abuse.StatusResult{
				Blocked: r.Blocked, Tier: r.Tier, Reason: r.Reason, RetryAfter: r.RetryAfter, Strikes: r.Strikes, Tiers: suites.AttemptCounts(r.Count...),
			}}
		},
	}
}

func forgiveAttempts(p abuse.ForgiveParams) abuseCall {
	return abuseCall{
		function: "forgive", subject: string(p.Subject), params: p,
		queue: queued((*abuse.Client).QueueForgive, p),
		answer: func(m *model.Abuse) answer {
			existed := m.Forgive(string(p.Subject))
			return answer{reply: abuse.ForgiveResult{Existed: existed}, changed: existed}
		},
	}
}

func blockByHand(p abuse.BlockParams) abuseCall {
	return abuseCall{
		function: "block", subject: string(p.Subject), params: p,
		queue: queued((*abuse.Client).QueueBlock, p),
		answer: func(m *model.Abuse) answer {
			applied, retry := m.Block(string(p.Subject), p.Duration, p.Reason)
			return answer{reply: abuse.BlockResult{Applied: applied, RetryAfter: retry}, changed: applied}
		},
	}
}

func liftBlock(p abuse.UnblockParams) abuseCall {
	return abuseCall{
		function: "unblock", subject: string(p.Subject), params: p,
		queue: queued((*abuse.Client).QueueUnblock, p),
		answer: func(m *model.Abuse) answer {
			existed := m.Unblock(string(p.Subject), p.Pardon)
			return answer{reply: abuse.UnblockResult{Existed: existed}, changed: existed}
		},
	}
}

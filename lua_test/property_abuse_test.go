package luatest_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/lua_test/model"
)

type abuseCall = call[*abuse.Client, *model.Abuse]

var abuseFamily = family[*abuse.Client, *model.Abuse]{
	name:  "abuse",
	suite: abusers,
	model: model.NewAbuse,
	keys:  []storedKey{{"block", "string"}, {"attempts", "string"}},
	draw:  drawAbuse,
}

func drawAbuse(t *rapid.T) plan[*abuse.Client, *model.Abuse] {
	spans := []time.Duration{time.Microsecond, time.Millisecond, 1500 * time.Microsecond, time.Second, 10 * time.Second, time.Minute, time.Hour}
	span := rapid.SampledFrom(spans)
	block := rapid.SampledFrom(spans[1:])
	tiers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) attemptTier {
		return attemptTier{
			Threshold: rapid.SampledFrom([]int64{1, 2, 2, 3, 3, 4, 6, 10_000}).Draw(t, "threshold"),
			Window:    span.Draw(t, "window"), Block: block.Draw(t, "block"),
		}
	}), 1, 4)
	steady := rapid.Bool().Draw(t, "steady")
	fixed := tiers.Draw(t, "tiers")
	memory := rapid.SampledFrom([]time.Duration{0, 0, 10 * time.Second, time.Millisecond}).Draw(t, "memory")
	var escalation []abuse.AttemptEscalation
	for _, d := range rapid.SliceOfN(block, 0, 3).Draw(t, "escalation") {
		escalation = append(escalation, abuse.AttemptEscalation{Block: d})
	}
	return plan[*abuse.Client, *model.Abuse]{spans: spans, steady: false, call: func(t *rapid.T) abuseCall {
		subject := fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))
		p := attemptParams{Bucket: subject, Tiers: fixed, Escalation: escalation, StrikeMemory: memory}
		if !steady {
			p.Tiers = tiers.Draw(t, "tiers")
			p.StrikeMemory = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Millisecond}).Draw(t, "memory")
		}
		switch rapid.IntRange(0, 24).Draw(t, "function") {
		default:
			return tryOnce(p)
		case 19, 20, 21:
			status := abuse.StatusParams{Bucket: subject, StrikeMemory: p.StrikeMemory}
			for _, tier := range p.Tiers[rapid.IntRange(0, len(p.Tiers)).Draw(t, "from"):] {
				status.Tiers = append(status.Tiers, abuse.StatusTiers{Window: tier.Window})
			}
			return lookAtStatus(status)
		case 22:
			return forgiveAttempts(abuse.ForgiveParams{Bucket: subject})
		case 23:
			return blockByHand(abuse.BlockParams{Bucket: subject, Duration: block.Draw(t, "duration"), Reason: rapid.SampledFrom([]string{"", "why", "tier 2"}).Draw(t, "reason")})
		case 24:
			return liftBlock(abuse.UnblockParams{Bucket: subject, Pardon: rapid.Bool().Draw(t, "pardon")})
		}
	}}
}

func tryOnce(p attemptParams) abuseCall {
	c := model.AttemptCall{StrikeMemory: p.StrikeMemory}
	for _, tier := range p.Tiers {
		c.Tiers = append(c.Tiers, model.AbuseTier(tier))
	}
	for _, e := range p.Escalation {
		c.Escalation = append(c.Escalation, e.Block)
	}
	return abuseCall{
		function: "attempt", subject: string(p.Bucket), params: p,
		queue: queued((*abuse.Client).QueueAttempt, p),
		answer: func(m *model.Abuse) answer {
			r, changed := m.Attempt(string(p.Bucket), c)
			want := attemptResult{Allowed: r.Allowed, Reason: abuse.AttemptReason(r.Reason), Tier: r.Tier, RetryAfter: r.RetryAfter, Strikes: r.Strikes}
			for i := range r.Count {
				want.Tiers = append(want.Tiers, attemptRow{Count: r.Count[i], Remaining: r.Remaining[i]})
			}
			return answer{
				reply: want, changed: changed,
				// What starts a block is refused and recorded. When the block has ended an attempt is judged, and may start another.
				refused: r.Reason == "blocked", retry: r.RetryAfter, tick: time.Millisecond,
				passes: func(reply any) bool { return reply.(attemptResult).Reason != abuse.AttemptReasonBlocked },
			}
		},
	}
}

func lookAtStatus(p abuse.StatusParams) abuseCall {
	var windows []time.Duration
	for _, tier := range p.Tiers {
		windows = append(windows, tier.Window)
	}
	return abuseCall{
		function: "status", subject: string(p.Bucket), params: p,
		queue: queued((*abuse.Client).QueueStatus, p),
		answer: func(m *model.Abuse) answer {
			r := m.Status(string(p.Bucket), windows, p.StrikeMemory)
			return answer{reply: abuse.StatusResult{
				Blocked: r.Blocked, Tier: r.Tier, Reason: r.Reason, RetryAfter: r.RetryAfter, Strikes: r.Strikes, Tiers: counts(r.Count...),
			}}
		},
	}
}

func forgiveAttempts(p abuse.ForgiveParams) abuseCall {
	return abuseCall{
		function: "forgive", subject: string(p.Bucket), params: p,
		queue: queued((*abuse.Client).QueueForgive, p),
		answer: func(m *model.Abuse) answer {
			existed := m.Forgive(string(p.Bucket))
			return answer{reply: abuse.ForgiveResult{Existed: existed}, changed: existed}
		},
	}
}

func blockByHand(p abuse.BlockParams) abuseCall {
	return abuseCall{
		function: "block", subject: string(p.Bucket), params: p,
		queue: queued((*abuse.Client).QueueBlock, p),
		answer: func(m *model.Abuse) answer {
			applied, retry := m.Block(string(p.Bucket), p.Duration, p.Reason)
			return answer{reply: abuse.BlockResult{Applied: applied, RetryAfter: retry}, changed: applied}
		},
	}
}

func liftBlock(p abuse.UnblockParams) abuseCall {
	return abuseCall{
		function: "unblock", subject: string(p.Bucket), params: p,
		queue: queued((*abuse.Client).QueueUnblock, p),
		answer: func(m *model.Abuse) answer {
			existed := m.Unblock(string(p.Bucket), p.Pardon)
			return answer{reply: abuse.UnblockResult{Existed: existed}, changed: existed}
		},
	}
}

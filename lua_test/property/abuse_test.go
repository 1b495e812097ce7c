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
		p.Escalation = escalation(rapid.SliceOfN(block, 0, 3).Draw(t, "escalation"))
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
			// An attempt that starts a block is refused and recorded. After the block an attempt is judged, and may start another block.
			return judged("attempt", subject, p, (*abuse.Client).QueueAttempt, (*model.Abuse).Attempt, time.Millisecond, func(r attemptResult) (bool, time.Duration) {
				return r.Reason == abuse.AttemptReasonBlocked, r.RetryAfter
			})
		case 19, 20, 21:
			status := abuse.StatusParams{Subject: subject, StrikeMemory: p.StrikeMemory}
			var tiers []abuse.StatusTiers
			for _, tier := range p.Tiers.Each()[rapid.IntRange(0, p.Tiers.Len()).Draw(t, "from"):] {
				tiers = append(tiers, abuse.StatusTiers{Threshold: tier.Threshold, Window: tier.Window})
			}
			status.Tiers = abuse.PackStatusTiers(tiers...)
			return made("status", subject, status, (*abuse.Client).QueueStatus, (*model.Abuse).Status)
		case 22:
			return made("forgive", subject, abuse.ForgiveParams{Subject: subject}, (*abuse.Client).QueueForgive, (*model.Abuse).Forgive)
		case 23:
			return blockByHand(abuse.BlockParams{Subject: subject, Duration: block.Draw(t, "duration"), Reason: rapid.SampledFrom([]string{"", "why", "tier 2"}).Draw(t, "reason")})
		case 24:
			return liftBlock(abuse.UnblockParams{Subject: subject, Pardon: rapid.Bool().Draw(t, "pardon")})
		}
	}}
}

func escalation(blocks []time.Duration) fcall.Rows[abuse.AttemptEscalation] {
	var rows []abuse.AttemptEscalation
	for _, d := range blocks {
		rows = append(rows, abuse.AttemptEscalation{Block: d})
	}
	return abuse.PackAttemptEscalation(rows...)
}

func blockByHand(p abuse.BlockParams) abuseCall {
	return made("block", p.Subject, p, (*abuse.Client).QueueBlock, (*model.Abuse).Block)
}

func liftBlock(p abuse.UnblockParams) abuseCall {
	return made("unblock", p.Subject, p, (*abuse.Client).QueueUnblock, (*model.Abuse).Unblock)
}

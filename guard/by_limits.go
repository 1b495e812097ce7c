package guard

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/gen/guard"
)

// onlyLimits tells whether a call needs no more than a look at the block and the limits. Most do, and admit_by_limits answers them for
// less.
func onlyLimits(p *guard.AdmitParams) bool {
	return len(p.Budgets) == 0 && len(p.Tiers) == 0 && p.Challenge == "" && !p.ChallengeRequired
}

// function is what answers a call, as the server names it.
func (g *Guard) function(p *guard.AdmitParams) string {
	if onlyLimits(p) {
		return g.functions.byLimits
	}
	return g.functions.admit
}

// admitOne makes one call.
func (b oneByOne) admitOne(ctx context.Context, p *guard.AdmitParams) (guard.AdmitResult, error) {
	if !onlyLimits(p) {
		return b.client.Admit(ctx, *p)
	}
	r, err := b.client.AdmitByLimits(ctx, byLimits(p))
	return byLimitsResult(&r), err
}

// queue adds one call to a pipeline, and returns what reads its answer after the pipeline's Exec.
func (b oneByOne) queue(ctx context.Context, pipe redis.Pipeliner, p *guard.AdmitParams) func() (guard.AdmitResult, error) {
	if !onlyLimits(p) {
		return b.client.QueueAdmit(ctx, pipe, *p).Result
	}
	pending := b.client.QueueAdmitByLimits(ctx, pipe, byLimits(p))
	return func() (guard.AdmitResult, error) {
		r, err := pending.Result()
		return byLimitsResult(&r), err
	}
}

func byLimits(p *guard.AdmitParams) guard.AdmitByLimitsParams {
	few := guard.AdmitByLimitsParams{Bucket: p.Bucket, Receipt: p.Receipt, Dedup: p.Dedup, Limits: make([]guard.AdmitByLimitsLimits, len(p.Limits))}
	for i, l := range p.Limits {
		few.Limits[i] = guard.AdmitByLimitsLimits{
			Name: l.Name, Kind: guard.AdmitByLimitsLimitsKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: l.Cost, Shadow: l.Shadow,
		}
	}
	return few
}

// byLimitsResult is what admit would have answered.
func byLimitsResult(r *guard.AdmitByLimitsResult) guard.AdmitResult {
	all := guard.AdmitResult{
		Allowed: r.Allowed, Duplicate: r.Duplicate, Reason: guard.AdmitReason(r.Reason), Tier: r.Tier, RetryAfter: r.RetryAfter,
		Challenge: guard.AdmitChallengeNone, Limits: make([]guard.AdmitLimitsResult, len(r.Limits)),
	}
	for i, row := range r.Limits {
		all.Limits[i] = guard.AdmitLimitsResult(row)
	}
	return all
}

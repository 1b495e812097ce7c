package guard

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A localEngine decides in this process.
type localEngine struct {
	oneByOne
	limits *ratelimit.Client
}

// newLocal starts an engine that holds at most so many bytes.
func newLocal(namespace string, bytes int64, clock embedded.Clock) (backend, error) {
	server := embedded.New(embedded.Options{Clock: clock})
	ctx := context.Background()
	for _, cmd := range []redis.Cmder{
		redis.NewStatusCmd(ctx, "config", "set", "maxmemory", bytes),
		redis.NewStringCmd(ctx, "function", "load", guard.Library.Code),
		redis.NewStringCmd(ctx, "function", "load", ratelimit.Library.Code),
	} {
		if err := server.Process(ctx, cmd); err != nil {
			return nil, fmt.Errorf("start the local engine: %w", err)
		}
	}
	o := fcall.Options{Namespace: namespace, Mode: fcall.ModeFunctions, NoHeal: true}
	all, err := guard.New(server, o)
	if err != nil {
		return nil, fmt.Errorf("start the local engine: %w", err)
	}
	limits, err := ratelimit.New(server, o)
	if err != nil {
		return nil, fmt.Errorf("start the local engine: %w", err)
	}
	return localEngine{oneByOne{all}, limits}, nil
}

// admit asks ratelimit.check where there are limits and nothing else, which takes half the time: nobody blocks a subject here by hand.
func (e localEngine) admit(ctx context.Context, parts []guard.AdmitParams) []answer {
	answers := make([]answer, len(parts))
	for i := range parts {
		p, a := &parts[i], &answers[i]
		if len(p.Limits) > 0 && len(p.Budgets) == 0 && len(p.Tiers) == 0 {
			a.result, a.err = e.check(ctx, p)
		} else {
			a.result, a.err = e.client.Admit(ctx, *p)
		}
	}
	return answers
}

func (e localEngine) check(ctx context.Context, p *guard.AdmitParams) (guard.AdmitResult, error) {
	params := ratelimit.CheckParams{Bucket: p.Bucket, Receipt: p.Receipt, Dedup: p.Dedup, Limits: make([]ratelimit.CheckLimits, len(p.Limits))}
	for i, l := range p.Limits {
		params.Limits[i] = ratelimit.CheckLimits{
			Name: l.Name, Kind: ratelimit.CheckLimitsKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: l.Cost,
		}
	}
	checked, err := e.limits.Check(ctx, params)
	if err != nil {
		return guard.AdmitResult{}, err
	}
	r := guard.AdmitResult{
		Allowed: checked.Allowed, Duplicate: checked.Duplicate, Reason: guard.AdmitReasonNone, RetryAfter: checked.RetryAfter,
		Challenge: guard.AdmitChallengeNone, Limits: make([]guard.AdmitLimitsResult, len(checked.Limits)),
	}
	if !r.Allowed {
		r.Reason = guard.AdmitReasonLimit
	}
	for i, l := range checked.Limits {
		r.Limits[i] = guard.AdmitLimitsResult{Allowed: l.Allowed, Remaining: l.Remaining, RetryAfter: l.RetryAfter, ResetAfter: l.ResetAfter}
	}
	return r, nil
}

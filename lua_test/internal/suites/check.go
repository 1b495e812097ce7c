package suites

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// CheckParams are a call of check, with rows that are not packed yet.
type CheckParams struct {
	Subject fcall.Subject
	Limits  []ratelimit.Limit
	Of      []fcall.Subject
	Weight  int64
	Receipt string
	Dedup   time.Duration
	Look    bool
}

func (p CheckParams) Packed() ratelimit.CheckParams {
	return ratelimit.CheckParams{
		Subject: p.Subject, Limits: ratelimit.PackLimit(p.Limits...).For(p.Of...), Weight: p.Weight, Receipt: p.Receipt, Dedup: p.Dedup, Look: p.Look,
	}
}

// Reset forgets the call's limits.
func (p CheckParams) Reset() ratelimit.ResetParams {
	return ratelimit.ResetParams{Subject: p.Subject, Limits: ratelimit.PackLimit(p.Limits...).For(p.Of...)}
}

// CheckLimits returns a limit of each kind: limit requests in 10 s.
func CheckLimits(limit int64) []ratelimit.Limit {
	return []ratelimit.Limit{
		{Name: "a", Kind: ratelimit.LimitKindSlidingLog, Limit: limit, Window: 10 * time.Second},
		{Name: "a", Kind: ratelimit.LimitKindSlidingCounter, Limit: limit, Window: 10 * time.Second},
		{Name: "a", Kind: ratelimit.LimitKindFixedWindow, Limit: limit, Window: 10 * time.Second},
		{Name: "a", Kind: ratelimit.LimitKindGCRA, Limit: limit, Window: 10 * time.Second},
	}
}

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
}

func (p CheckParams) Pack() (ratelimit.CheckParams, error) {
	limits, err := ratelimit.PackLimit(p.Limits...)
	return ratelimit.CheckParams{Subject: p.Subject, Limits: limits, LimitsOf: p.Of, Weight: p.Weight, Receipt: p.Receipt, Dedup: p.Dedup}, err
}

func (p CheckParams) Packed() ratelimit.CheckParams {
	packed, err := p.Pack()
	if err != nil {
		panic(err)
	}
	return packed
}

// PackPeek and PackReset are the same calls of check_peek and check_reset.
func (p CheckParams) PackPeek() (ratelimit.CheckPeekParams, error) {
	packed, err := p.Pack()
	return ratelimit.CheckPeekParams(packed), err
}

func (p CheckParams) PackReset() (ratelimit.CheckResetParams, error) {
	packed, err := p.Pack()
	return ratelimit.CheckResetParams{Subject: packed.Subject, Limits: packed.Limits, LimitsOf: packed.LimitsOf}, err
}

// Peek is the same call of check_peek.
func (p CheckParams) Peek() ratelimit.CheckPeekParams { return ratelimit.CheckPeekParams(p.Packed()) }

// Reset forgets the call's limits.
func (p CheckParams) Reset() ratelimit.CheckResetParams {
	return ratelimit.CheckResetParams{Subject: p.Subject, Limits: ratelimit.MustPackLimit(p.Limits...), LimitsOf: p.Of}
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

package guard

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Reason is why a request is refused.
type Reason string

// The reasons, in the order in which one is named where several hold.
const (
	ReasonNone      Reason = ""          // it is not refused
	ReasonDenied    Reason = "denied"    // the policy's overrides deny a subject of the request
	ReasonBlocked   Reason = "blocked"   // a block holds
	ReasonAttempts  Reason = "attempts"  // this attempt is one too many and starts a block
	ReasonLimit     Reason = "limit"     // a limit of a subject
	ReasonGlobal    Reason = "global"    // a global limit
	ReasonPenalty   Reason = "penalty"   // a budget was exceeded by what was really spent
	ReasonBudget    Reason = "budget"    // the estimate does not fit a budget now
	ReasonTooLarge  Reason = "too_large" // the estimate exceeds a whole budget: no wait helps
	ReasonChallenge Reason = "challenge" // a challenge is missing or not valid: no wait helps
)

// A Fallback is how a request was decided without Redis.
type Fallback string

// The fallbacks.
const (
	FallbackNone  Fallback = ""      // Redis answered
	FallbackOpen  Fallback = "open"  // what Redis would have said is left out
	FallbackLocal Fallback = "local" // a share of the limits was held in this process
)

// A Decision is the answer to one request. It is safe for concurrent use.
type Decision struct {
	Endpoint string
	// Subject is the policy's client among the request's subjects: "user=42".
	Subject string
	// Allowed tells whether the request may pass.
	Allowed bool
	// Reason is why not.
	Reason Reason
	// Refused is the subject whose limit, budget or block is why: "ip=203.0.113.7"; "" when allowed, and of a global limit.
	Refused string
	// RetryAfter is how long the request would be refused if nothing else happened: 5.987654 s. 0 when allowed, and where no wait
	// helps.
	RetryAfter time.Duration
	// Duplicate tells that the receipt was known, so that nothing was charged.
	Duplicate bool
	// Limits has a row for each limit whose identity the request has, global ones last. Rows of a limit that Redis was not asked about are
	// missing.
	Limits []LimitState
	// Budgets has a row for each budget.
	Budgets []BudgetState
	// Tier is the tier that started a block, from 1; 0 for none.
	Tier int
	// Strikes is how many blocks the subject has had lately, where an attempt was recorded.
	Strikes int
	// Challenge is what became of the challenge: consumed, unused (it stays, as something else refused), absent, replayed,
	// expired_or_unknown, mismatch; "" where none was looked at.
	Challenge string
	// Fallback tells that the decision, or a part of it, was made without Redis.
	Fallback Fallback
	// Cause is why, with a Fallback.
	Cause error
	// Cached reports whether the refusal came from this process's cache. Limits and Budgets are as they were Age ago.
	Cached bool
	// Age is how long ago Limits and Budgets were read: 0 unless Cached.
	Age time.Duration

	charge   *charge
	counting *counting
	block    time.Duration // of RetryAfter, what the subject's block takes
}

// Clone returns a copy whose Limits and Budgets may be edited. Both share one reservation.
func (d *Decision) Clone() *Decision {
	c := *d
	c.Limits, c.Budgets = slices.Clone(d.Limits), slices.Clone(d.Budgets)
	return &c
}

// A LimitState is one limit after the decision.
type LimitState struct {
	Name string
	// Endpoint is whose limit it is; "" for one of the whole policy.
	Endpoint string
	Subject  string // whom it counts: "user=42"
	Kind     policy.Kind
	Limit    int64
	Window   time.Duration
	Burst    int64 // of a gcra
	Global   bool
	Shadow   bool // it refuses nobody
	Allowed  bool // whether this limit allows; another one may have refused
	// Remaining is what is left: 7 when 3 of 10 are taken.
	Remaining int64
	// RetryAfter is the wait until this limit allows; 0 when it does.
	RetryAfter time.Duration
	// ResetAfter is the wait until the limit is as new.
	ResetAfter time.Duration
}

// A BudgetState is one budget after the decision.
type BudgetState struct {
	Name      string
	Budget    fcall.Micros
	Window    time.Duration
	Allowed   bool
	Spent     fcall.Micros
	Remaining fcall.Micros
	// RetryAfter is the wait until the estimate fits; 0 when it does, and when it never will.
	RetryAfter time.Duration
}

// A charge is what an admitted request has reserved of the subject's budgets.
type charge struct {
	guard       *Guard
	subject     string
	reservation string
	estimate    fcall.Micros
	budgets     []cost.SettleLimits // that the settlement is held to
	duplicate   bool
	absent      bool // nothing is reserved in Redis
	closed      atomic.Bool
	spent       atomic.Pointer[fcall.Micros] // what Settle could not record
}

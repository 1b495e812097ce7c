package guard

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Reason is why a request is refused.
type Reason string

// The reasons. If several apply, a decision has the first in this order.
const (
	ReasonNone      Reason = ""          // not refused
	ReasonDenied    Reason = "denied"    // an override denies a subject of the request
	ReasonBlocked   Reason = "blocked"   // a subject of the request is blocked
	ReasonAttempts  Reason = "attempts"  // this attempt was one too many and starts a block
	ReasonLimit     Reason = "limit"     // a limit of a subject refuses
	ReasonGlobal    Reason = "global"    // a global limit refuses
	ReasonPenalty   Reason = "penalty"   // actual costs exceeded a budget
	ReasonBudget    Reason = "budget"    // the estimate does not fit into a budget now
	ReasonTooLarge  Reason = "too_large" // the estimate exceeds a whole budget; waiting does not help
	ReasonChallenge Reason = "challenge" // a challenge is missing or not valid; waiting does not help
)

// A Fallback is the failure mode that decided a request because Redis did not.
type Fallback string

// The fallbacks.
const (
	FallbackNone  Fallback = ""      // Redis decided
	FallbackOpen  Fallback = "open"  // limits without a decision let the request pass
	FallbackLocal Fallback = "local" // this process enforced its share of the limits
)

// A Decision is the result for one request. It is safe for concurrent use, and read-only: decisions share their Limits and Budgets.
type Decision struct {
	Endpoint string
	// Subject is the request's client by the policy, for example "user=42".
	Subject string
	// Allowed reports whether the request may pass.
	Allowed bool
	// Reason is why the request is refused; ReasonNone if it is allowed.
	Reason Reason
	// Refused is the subject whose limit, budget or block refuses, for example "ip=203.0.113.7". It is "" if the request is allowed, or a
	// limit or budget of all requests refuses.
	Refused string
	// RetryAfter is how long the request stays refused if nothing else happens, for example 5.987654 s. It is 0 if the request is allowed
	// or waiting does not help. If AwaitsPlace, it is when to try again.
	RetryAfter time.Duration
	// Duplicate reports whether the receipt was known, so that guard charged only what the request costs more than before.
	Duplicate bool
	// Limits has one entry for each limit that counts a subject of the request, global limits last. It omits limits that neither Redis nor
	// this process evaluated.
	Limits []LimitState
	// Budgets has one entry for each budget that counts a subject of the request.
	Budgets []BudgetState
	// Block is the name of the policy's block that refuses, or that the request starts; "" for one that an operator or Guard.Block set.
	Block string
	// Tier is the tier that started the block, from 1; 0 without a block.
	Tier int
	// Strikes is the number of recent blocks of the subject. It is 0 if the request recorded no attempt.
	Strikes int
	// Challenge is the challenge's outcome: consumed, unused (still valid, because something else refused), absent, replayed,
	// expired_or_unknown or mismatch. It is "" if guard checked none.
	Challenge string
	// Fallback is the failure mode that decided all or part of the request.
	Fallback Fallback
	// Cause is why a failure mode decided; nil without a Fallback.
	Cause error
	// Cached reports whether this process answered from a cached refusal. Limits and Budgets are then Age old.
	Cached bool
	// Age is how long ago Limits and Budgets were read; 0 unless Cached.
	Age time.Duration

	// AwaitsPlace reports whether only limits of kind concurrency refuse the request. A place may be released at any time, so RetryAfter is
	// at most 1 s then: when to try again, not when the request passes.
	AwaitsPlace bool
	// Charge is what the request holds until it ends; nil if it holds nothing.
	Charge *Charge

	block time.Duration // the part of RetryAfter that the block causes
}

// A LimitState is the state of one limit after the decision.
type LimitState struct {
	Name string
	// Endpoint is the endpoint that has the limit; "" for a limit of the whole policy.
	Endpoint string
	Subject  string // the subject that it counts, for example "user=42"
	Kind     policy.Kind
	Limit    int64
	Window   time.Duration // 0 for kind concurrency
	Lease    time.Duration // of kind concurrency, otherwise 0
	Burst    int64         // of a gcra limit
	Global   bool
	Shadow   bool // reports, but never refuses
	Allowed  bool // reports whether this limit allows; another one may have refused
	// Remaining is the unused part of the limit: 7 after 3 of 10.
	Remaining int64
	// RetryAfter is how long until this limit allows the request; 0 if it does, or if a shadow limit never will. For kind concurrency, it is how long until enough leases
	// end, if no request ends or renews its lease.
	RetryAfter time.Duration
	// ResetAfter is how long until the limit has its full capacity again. For kind concurrency, it is 0.
	ResetAfter time.Duration
}

// Refuses reports whether the limit refuses the request, which a shadow limit never does.
func (l *LimitState) Refuses() bool { return !l.Allowed && !l.Shadow }

// A BudgetState is the state of one budget after the decision. Its amounts are millionths, also of a unit: 40000 tokens are 40000000000.
type BudgetState struct {
	Name    string
	Subject string // the subject that it counts, for example "org=acme"
	Unit    string // "" for money
	Budget  fcall.Micros
	Window  time.Duration // of a period, its length by the clock of this process
	Every   policy.Every  // "" for a window that slides
	Allowed bool          // reports whether this budget allows; another one may have refused
	// Warned reports whether at least the policy's warn of the budget is spent, after the call.
	Warned    bool
	Spent     fcall.Micros
	Remaining fcall.Micros
	// RetryAfter is how long until the estimate fits; 0 if it does or never will.
	RetryAfter time.Duration
}

package api

import (
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/inspect"
)

// Durations are decimal seconds and money is decimal text, as in rlfunc inspect --json.
type (
	seconds = inspect.Seconds
	money   = inspect.Money
)

type decideRequest struct {
	Endpoint  string   `json:"endpoint" doc:"Name of the endpoint in the policy."`
	Subjects  []string `json:"subjects,omitempty" doc:"Identities of the client, IDENTITY=VALUE: one for each identity that a limit counts and the client has. The program vouches for them. An address counts by its prefix; a value with + or % has %2B or %25."`
	Receipt   string   `json:"receipt,omitempty" doc:"Idempotency key, for an endpoint with idempotency in the policy: as many repeats as that allows, 1 by default, pay only what they cost more than before."`
	Challenge string   `json:"challenge,omitempty" doc:"One-time token of the client, for an endpoint with a challenge in the policy."`
	Payload   string   `json:"payload,omitempty" doc:"Text that the challenge was issued for; only with a challenge."`
	Weight    int64    `json:"weight,omitempty" doc:"Multiplies the cost of each limit but those of kind sliding_log, which count each request once: an error if all are. 0 is 1."`
	Estimate  money    `json:"estimate,omitempty" doc:"Expected cost, reserved in the budgets of an endpoint with a cost in the policy; the policy's estimate if omitted."`
	Units     []amount `json:"units,omitempty" doc:"Expected costs in the other units of its budgets, such as tokens; the policy's estimates if omitted."`
}

type amount struct {
	Unit string `json:"unit" doc:"A unit of the policy's budgets."`
	N    int64  `json:"n"`
}

// units returns amounts as guard has them.
func units(amounts []amount) (all []guard.Amount) {
	for _, a := range amounts {
		all = append(all, guard.Amount(a))
	}
	return all
}

type decision struct {
	Allowed      bool     `json:"allowed" doc:"Whether the request may pass."`
	Reason       string   `json:"reason,omitempty" doc:"Why not: denied, blocked, attempts, limit, global, penalty, budget, too_large or challenge."`
	Subject      string   `json:"subject,omitempty" doc:"The client by the policy."`
	Refused      string   `json:"refused,omitempty" doc:"The subject whose limit, budget or block refuses."`
	RetryAfter   seconds  `json:"retry_after" doc:"How long the request stays refused; 0 if it is allowed or waiting does not help."`
	Duplicate    bool     `json:"duplicate" doc:"Whether the receipt was known, so that only what the request costs more than before was charged."`
	Challenge    string   `json:"challenge,omitempty" doc:"Outcome of the challenge: consumed, unused, absent, replayed, expired_or_unknown or mismatch."`
	Fallback     string   `json:"fallback,omitempty" doc:"The failure mode that decided without Redis: open or local."`
	Charge       string   `json:"charge,omitempty" doc:"What the request holds until it ends, for /v1/charges: a reservation in budgets, and places of limits of kind concurrency. Omitted if it holds nothing."`
	Reserved     money    `json:"reserved,omitempty" doc:"What the request reserved of its budgets, for /v1/charges/settle."`
	Units        []amount `json:"reserved_units,omitempty" doc:"The same in other units than money."`
	ExpiresAfter seconds  `json:"expires_after,omitempty" doc:"How long the places are kept without /v1/charges/renew."`
	Limits       []limit  `json:"limits" doc:"The limits that count the request, global and shadow limits included."`
	Budgets      []budget `json:"budgets" doc:"The budgets that the request is charged to."`
}

type limit struct {
	Name       string  `json:"name"`
	Endpoint   string  `json:"endpoint,omitempty" doc:"Omitted for a limit of the whole policy."`
	Subject    string  `json:"subject"`
	Kind       string  `json:"kind"`
	Limit      int64   `json:"limit"`
	Window     seconds `json:"window" doc:"0 for kind concurrency."`
	Lease      seconds `json:"lease,omitempty" doc:"Of kind concurrency: how long a place is kept without a renewal."`
	Burst      int64   `json:"burst,omitempty"`
	Global     bool    `json:"global"`
	Shadow     bool    `json:"shadow"`
	Allowed    bool    `json:"allowed"`
	Remaining  int64   `json:"remaining"`
	RetryAfter seconds `json:"retry_after"`
	ResetAfter seconds `json:"reset_after"`
}

type budget struct {
	Name       string  `json:"name"`
	Subject    string  `json:"subject"`
	Unit       string  `json:"unit,omitempty" doc:"Omitted for money."`
	Budget     money   `json:"budget"`
	Window     seconds `json:"window" doc:"Of a period, its length."`
	Every      string  `json:"every,omitempty" doc:"Of a budget with periods: hour, day, week, month or year."`
	Warned     bool    `json:"warned,omitempty" doc:"Whether at least the policy's warn is spent."`
	Allowed    bool    `json:"allowed"`
	Spent      money   `json:"spent"`
	Remaining  money   `json:"remaining"`
	RetryAfter seconds `json:"retry_after"`
}

type settleRequest struct {
	Charge string   `json:"charge" doc:"The charge of a decision that reserved."`
	Actual money    `json:"actual" doc:"What was spent: 0 if nothing was. It replaces the estimate, once."`
	Units  []amount `json:"units,omitempty" doc:"The same in other units than money. One that is omitted is settled as it was reserved; one that was not reserved is an error."`
}

type settlement struct{}

type chargeRequest struct {
	Charge string `json:"charge" doc:"The charge of a decision."`
}

type renewal struct {
	Renewed      bool    `json:"renewed" doc:"False if some places are lost: stop the work, because other requests may have them."`
	ExpiresAfter seconds `json:"expires_after" doc:"How long the places are kept without another renewal; 0 if some are lost."`
}

type release struct {
	Released bool `json:"released" doc:"False if the places were released before or their lease has ended."`
}

type issueRequest struct {
	Subject        string  `json:"subject"`
	TTL            seconds `json:"ttl" doc:"How long the challenge can be consumed."`
	Payload        string  `json:"payload,omitempty" doc:"What it is for; consume must have the same."`
	ReuseWithin    seconds `json:"reuse_within,omitempty" doc:"For how long after its issue an unused challenge is returned instead."`
	MaxOutstanding int64   `json:"max_outstanding,omitempty" doc:"Most unused challenges of the subject, 1 to 64; 64 if omitted."`
}

type issued struct {
	Token        string  `json:"token"`
	Reused       bool    `json:"reused" doc:"Whether it had been issued before."`
	ExpiresAfter seconds `json:"expires_after"`
	Outstanding  int64   `json:"outstanding" doc:"Unused challenges of the subject, this one included."`
}

type consumeRequest struct {
	Subject string `json:"subject"`
	Token   string `json:"token"`
	Payload string `json:"payload,omitempty"`
}

type consumed struct {
	Outcome string `json:"outcome" doc:"consumed, which only one call ever gets, replayed, expired_or_unknown or mismatch."`
}

type statusRequest struct {
	Subject string `json:"subject" doc:"IDENTITY=VALUE, or several joined by + for a limit of several identities."`
}

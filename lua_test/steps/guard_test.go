package steps_test

import (
	"context"
	"time"

	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type (
	guardStep   = luatest.Step[guarded]
	admitResult = guard.AdmitResult
	admitParams = suites.AdmitParams
	guarded     = suites.Guarded
	admitLimit  = guard.Limit
	admitRow    = guard.LimitResult
)

var given = guard.RefundResult{Refunded: true}

func guardKey(suffix string) string { return "guard:{u1}:" + suffix }

// by is a step's call by one of the clients: by(suites.CostOf, (*budget.Client).Settle, params).
func by[C, P, R any](who func(guarded) C, method func(C, context.Context, P) (R, error), params P) func(context.Context, guarded) (any, error) {
	return func(ctx context.Context, g guarded) (any, error) { return method(who(g), ctx, params) }
}

// admit is a call of u1.
func admit(p admitParams) func(context.Context, guarded) (any, error) {
	p.Subject = "u1"
	return func(ctx context.Context, g guarded) (any, error) {
		packed, err := p.Pack()
		if err != nil {
			return admitResult{}, err
		}
		return g.Guard.Admit(ctx, packed)
	}
}

// refund refunds the charges of a call of u1.
func refund(p suites.RefundParams) func(context.Context, guarded) (any, error) {
	p.Subject = "u1"
	return refundAs(p)
}

func refundAs(p suites.RefundParams) func(context.Context, guarded) (any, error) {
	return by(suites.GuardOf, (*guard.Client).Refund, p.Packed())
}

// perLog is a sliding_log in each table's first place.
func perLog(name string, limit int64, window time.Duration) admitLimit {
	return admitLimit{Name: name, Kind: guard.LimitKindSlidingLog, Limit: limit, Window: window}
}

// afterStart is the clock at a time after the start.
func afterStart(d time.Duration) time.Time { return luatest.Start.Add(d) }

// passes is the answer to a call that is admitted at the start and asks for no more than these limits, passesAt to one so long
// after it, and stops to one that they refuse.
func passes(rows ...admitRow) admitResult { return passesAt(0, rows...) }

func passesAt(d time.Duration, rows ...admitRow) admitResult {
	return suites.Answered(admitResult{Allowed: true, Reason: guard.AdmitReasonNone, At: afterStart(d), Limits: rows})
}

// passesUntimed is passes where no limit needs the clock.
func passesUntimed(rows ...admitRow) admitResult {
	r := passes(rows...)
	r.At = time.Time{}
	return r
}

func stops(retry time.Duration, rows ...admitRow) admitResult {
	return suites.Answered(admitResult{Reason: guard.AdmitReasonLimit, RetryAfter: retry, Limits: rows})
}

type (
	budgetClient = budget.Client
	cancelParams = budget.CancelParams
	cancelResult = budget.CancelResult
)

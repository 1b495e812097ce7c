package luatest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

type (
	suiteOf     = luatest.Suite[guarded]
	guardStep   = luatest.Step[guarded]
	admitParams = guard.AdmitParams
	admitResult = guard.AdmitResult
	admitLimit  = guard.AdmitLimits
	admitRow    = guard.AdmitLimitsResult
	guardBack   = guard.GiveBackParams
)

// guarded are the clients that act on one guarded subject's state.
type guarded struct {
	guard      *guard.Client
	cost       *budget.Client
	abuse      *abuse.Client
	challenges *challenge.Client

	byLimits bool // whether admit_by_limits is asked where it can answer
}

var guards = suiteOf{
	Library: guard.Library,
	Beside:  []*fcall.Library{budget.Library, abuse.Library, challenge.Library},
	Client:  newGuarded,
	Source:  functions.FS,
	Root:    functions.Root,
	Engines: everywhere,
	Scripts: somewhere,
}

func newGuarded(server fcall.Caller, o fcall.Options) (g guarded, err error) {
	o.Namespace = "guard"
	var errs [4]error
	g.guard, errs[0] = guard.New(server, o)
	g.cost, errs[1] = budget.New(server, o)
	g.abuse, errs[2] = abuse.New(server, o)
	g.challenges, errs[3] = challenge.New(server, o)
	return g, errors.Join(errs[:]...)
}

var given = guard.GiveBackResult{GivenBack: true}

func guardKey(suffix string) string { return "guard:{u1}:" + suffix }

// by is a step's call by one of the clients: by(itsCost, (*budget.Client).Settle, params).
func by[C, P, R any](who func(guarded) C, method func(C, context.Context, P) (R, error), params P) func(context.Context, guarded) (any, error) {
	return func(ctx context.Context, g guarded) (any, error) { return method(who(g), ctx, params) }
}

func itsGuard(g guarded) *guard.Client          { return g.guard }
func itsCost(g guarded) *budget.Client          { return g.cost }
func itsAbuse(g guarded) *abuse.Client          { return g.abuse }
func itsChallenges(g guarded) *challenge.Client { return g.challenges }

// admit is a call of u1.
func admit(p admitParams) func(context.Context, guarded) (any, error) {
	p.Bucket = "u1"
	few, whole := byLimits(p)
	return func(ctx context.Context, g guarded) (any, error) {
		if !g.byLimits || !whole {
			return g.guard.Admit(ctx, p)
		}
		r, err := g.guard.AdmitByLimits(ctx, few)
		if err != nil {
			return admitResult{}, err
		}
		return asAdmit(r), nil
	}
}

// giveBack gives back what a call of u1 took.
func giveBack(p guardBack) func(context.Context, guarded) (any, error) {
	p.Bucket = "u1"
	return by(itsGuard, (*guard.Client).GiveBack, p)
}

// perLog is a sliding_log in each table's first place.
func perLog(name string, limit int64, window time.Duration) admitLimit {
	return admitLimit{Name: name, Kind: guard.AdmitLimitsKindSlidingLog, Limit: limit, Window: window}
}

// guardLimits is a limit of each kind: so many in 10 s.
func guardLimits(limit int64) []admitLimit {
	var all []admitLimit
	for _, l := range ofEach(limit) {
		all = append(all, admitLimit{Name: l.Name, Kind: guard.AdmitLimitsKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: l.Cost})
	}
	return all
}

// takenOf is what give_back takes of rows that were answered with these marks.
func takenOf(limits []admitLimit, marks ...int64) []guard.GiveBackLimits {
	var all []guard.GiveBackLimits
	for i, l := range limits {
		all = append(all, guard.GiveBackLimits{Name: l.Name, Kind: guard.GiveBackLimitsKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: l.Cost, Mark: marks[i]})
	}
	return all
}

// markAt is the mark of what is forgotten so long after the start.
func markAt(after time.Duration) int64 { return luatest.Start.Add(after).UnixMicro() }

// markMS is that of a limit whose key's expiry tells: in whole milliseconds.
func markMS(after time.Duration) int64 { return markAt(after) / 1000 * 1000 }

// admittedAt is the reservation of a receipt that was admitted so long after the start.
func admittedAt(receipt string, after time.Duration) string {
	return fmt.Sprintf("%s@%d", receipt, markAt(after))
}

// passes is the answer to an admitted call that asks for no more than these limits, and stops that to one that they refuse.
func passes(rows ...admitRow) admitResult {
	return answered(admitResult{Allowed: true, Reason: guard.AdmitReasonNone, Limits: rows})
}

func stops(retry time.Duration, rows ...admitRow) admitResult {
	return answered(admitResult{Reason: guard.AdmitReasonLimit, RetryAfter: retry, Limits: rows})
}

// answered fills in what an answer has where a table does not say.
func answered(r admitResult) admitResult {
	if r.Challenge == "" {
		r.Challenge = guard.AdmitChallengeNone
	}
	if r.Limits == nil {
		r.Limits = []admitRow{}
	}
	if r.Budgets == nil {
		r.Budgets = []guard.AdmitBudgetsResult{}
	}
	if r.Tiers == nil {
		r.Tiers = []guard.AdmitTiersResult{}
	}
	return r
}

type (
	budgetClient = budget.Client
	settleParams = budget.SettleParams
	settleResult = budget.SettleResult
	settleRow    = budget.SettleLimitsResult
	cancelParams = budget.CancelParams
	cancelResult = budget.CancelResult
)

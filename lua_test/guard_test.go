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
	admitResult = guard.AdmitResult
	admitLimit  = guard.Limit
	admitRow    = guard.LimitResult
)

// admitParams are a call of admit, with rows that are not packed yet.
type admitParams struct {
	Bucket            fcall.Subject
	Blocks            []fcall.Subject
	Limits            []admitLimit
	Of                []fcall.Subject
	Weight            int64
	Receipt           string
	ReceiptOf         fcall.Subject
	Dedup             time.Duration
	Repeats           *int64
	Budgets           []guard.AdmitBudgets
	BudgetsOf         fcall.Subject
	Estimate          fcall.Micros
	Hold              time.Duration
	Penalty           time.Duration
	Reservation       string
	Tiers             []guard.AdmitTiers
	Escalation        []guard.AdmitEscalation
	StrikeMemory      time.Duration
	CountRefused      bool
	Challenge         string
	ChallengeOf       fcall.Subject
	ChallengeRequired bool
	Payload           string
}

func (p admitParams) pack() (guard.AdmitParams, error) {
	limits, err := guard.PackLimit(p.Limits...)
	budgets, errBudgets := guard.PackAdmitBudgets(p.Budgets...)
	tiers, errTiers := guard.PackAdmitTiers(p.Tiers...)
	escalation, errEscalation := guard.PackAdmitEscalation(p.Escalation...)
	return guard.AdmitParams{
		Bucket: p.Bucket, Blocks: p.Blocks, Limits: limits, LimitsOf: p.Of, Weight: p.Weight, Receipt: p.Receipt, ReceiptOf: p.ReceiptOf,
		Dedup: p.Dedup, Repeats: p.Repeats, Budgets: budgets, BudgetsOf: p.BudgetsOf, ChallengeOf: p.ChallengeOf, Estimate: p.Estimate,
		Hold: p.Hold, Penalty: p.Penalty, Reservation: p.Reservation, Tiers: tiers, Escalation: escalation, StrikeMemory: p.StrikeMemory,
		CountRefused: p.CountRefused, Challenge: p.Challenge, ChallengeRequired: p.ChallengeRequired, Payload: p.Payload,
	}, errors.Join(err, errBudgets, errTiers, errEscalation)
}

func (p admitParams) packed() guard.AdmitParams {
	packed, err := p.pack()
	if err != nil {
		panic(err)
	}
	return packed
}

// guardBack are a call of refund, with rows that are not packed yet. Left is each limit's reset_after in the answer.
type guardBack struct {
	Bucket      fcall.Subject
	Limits      []admitLimit
	Of          []fcall.Subject
	Left        []time.Duration
	Weight      int64
	At          time.Time
	Age         time.Duration
	Receipt     string
	Reservation string
	Challenge   string
	Payload     string

	ChallengeOf, ReservationOf fcall.Subject
}

func (p guardBack) packed() guard.RefundParams {
	back := guard.RefundParams{
		Bucket: p.Bucket, Limits: guard.MustPackLimit(p.Limits...), LimitsOf: p.Of, Weight: p.Weight, At: p.At, Age: p.Age,
		Receipt: p.Receipt, Reservation: p.Reservation, ReservationOf: p.ReservationOf, Challenge: p.Challenge, ChallengeOf: p.ChallengeOf,
		Payload: p.Payload,
	}
	for _, left := range p.Left {
		back.Taken = append(back.Taken, guard.RefundTaken{Left: left})
	}
	return back
}

// guarded are the clients that act on one guarded subject's state.
type guarded struct {
	guard      *guard.Client
	cost       *budget.Client
	abuse      *abuse.Client
	challenges *challenge.Client
}

var guards = suiteOf{
	Library:        guard.Library,
	ExtraLibraries: []*fcall.Library{budget.Library, abuse.Library, challenge.Library},
	Client:         newGuarded,
	Source:         functions.FS,
	Root:           functions.Root,
	Engines:        everywhere,
	Scripts:        somewhere,
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

var given = guard.RefundResult{Refunded: true}

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
	return func(ctx context.Context, g guarded) (any, error) {
		packed, err := p.pack()
		if err != nil {
			return admitResult{}, err
		}
		return g.guard.Admit(ctx, packed)
	}
}

// refund gives back what a call of u1 took.
func refund(p guardBack) func(context.Context, guarded) (any, error) {
	p.Bucket = "u1"
	return refundAs(p)
}

func refundAs(p guardBack) func(context.Context, guarded) (any, error) {
	return by(itsGuard, (*guard.Client).Refund, p.packed())
}

// perLog is a sliding_log in each table's first place.
func perLog(name string, limit int64, window time.Duration) admitLimit {
	return admitLimit{Name: name, Kind: guard.LimitKindSlidingLog, Limit: limit, Window: window}
}

// guardLimits returns a limit of each kind: limit requests in 10 s.
func guardLimits(limit int64) []admitLimit {
	var all []admitLimit
	for _, l := range ofEach(limit) {
		all = append(all, admitLimit{Name: l.Name, Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: l.Cost})
	}
	return all
}

// takenOf is what an answer tells refund of its limits; those that did not allow took nothing.
func takenOf(rows []admitRow) (left []time.Duration) {
	for _, row := range rows {
		if !row.Allowed {
			row.ResetAfter = 0
		}
		left = append(left, row.ResetAfter)
	}
	return left
}

// afterStart is the clock so long after the start.
func afterStart(d time.Duration) time.Time { return luatest.Start.Add(d) }

// admittedAt is the reservation of a receipt that was admitted so long after the start.
func admittedAt(receipt string, after time.Duration) string {
	return fmt.Sprintf("%s@%d", receipt, luatest.Start.Add(after).UnixMicro())
}

// passes is the answer to a call that is admitted at the start and asks for no more than these limits, passesAt to one so long
// after it, and stops to one that they refuse.
func passes(rows ...admitRow) admitResult { return passesAt(0, rows...) }

func passesAt(d time.Duration, rows ...admitRow) admitResult {
	return answered(admitResult{Allowed: true, Reason: guard.AdmitReasonNone, At: afterStart(d), Limits: rows})
}

// passesUntimed is passes where no limit needs the clock.
func passesUntimed(rows ...admitRow) admitResult {
	r := passes(rows...)
	r.At = time.Time{}
	return r
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

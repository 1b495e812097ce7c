package suites

import (
	"errors"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// AdmitParams are a call of admit, with rows that are not packed yet.
type AdmitParams struct {
	Subject           fcall.Subject
	Blocks            []fcall.Subject
	Limits            []guard.Limit
	Of                []fcall.Subject
	Weight            int64
	Receipt           string
	ReceiptOf         fcall.Subject
	Dedup             time.Duration
	Repeats           *int64
	Budgets           []guard.Budget
	BudgetsOf         []fcall.Subject
	Units             []guard.UnitAmount
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
	Holder            string
}

func (p AdmitParams) Pack() (guard.AdmitParams, error) {
	limits, err := guard.PackLimit(p.Limits...)
	budgets, errBudgets := guard.PackBudget(p.Budgets...)
	units, errUnits := guard.PackUnitAmount(p.Units...)
	tiers, errTiers := guard.PackAdmitTiers(p.Tiers...)
	escalation, errEscalation := guard.PackAdmitEscalation(p.Escalation...)
	return guard.AdmitParams{
		Subject: p.Subject, Blocks: p.Blocks, Limits: limits, LimitsOf: p.Of, Weight: p.Weight, Receipt: p.Receipt, ReceiptOf: p.ReceiptOf,
		Dedup: p.Dedup, Repeats: p.Repeats, Budgets: budgets, BudgetsOf: p.BudgetsOf, Units: units, ChallengeOf: p.ChallengeOf, Estimate: p.Estimate,
		Hold: p.Hold, Penalty: p.Penalty, Reservation: p.Reservation, Tiers: tiers, Escalation: escalation, StrikeMemory: p.StrikeMemory,
		CountRefused: p.CountRefused, Challenge: p.Challenge, ChallengeRequired: p.ChallengeRequired, Payload: p.Payload, Holder: p.Holder,
	}, errors.Join(err, errBudgets, errUnits, errTiers, errEscalation)
}

func (p AdmitParams) Packed() guard.AdmitParams {
	packed, err := p.Pack()
	if err != nil {
		panic(err)
	}
	return packed
}

// RefundParams are a call of refund, with rows that are not packed yet. Left is each limit's reset_after in the answer.
type RefundParams struct {
	Subject     fcall.Subject
	Limits      []guard.Limit
	Of          []fcall.Subject
	Left        []time.Duration
	Weight      int64
	At          time.Time
	Age         time.Duration
	Receipt     string
	Reservation string
	Challenge   string
	Payload     string
	Expires     time.Time
	Holder      string

	ChallengeOf fcall.Subject
	Budgets     []guard.Budget
	BudgetsOf   []fcall.Subject
}

func (p RefundParams) Packed() guard.RefundParams {
	packed, err := p.Pack()
	if err != nil {
		panic(err)
	}
	return packed
}

func (p RefundParams) Pack() (guard.RefundParams, error) {
	limits, err := guard.PackLimit(p.Limits...)
	if p.Reservation != "" && p.Budgets == nil {
		p.Budgets = []guard.Budget{{Window: time.Second}} // any budget names the account
	}
	budgets, errBudgets := guard.PackBudget(p.Budgets...)
	back := guard.RefundParams{
		Subject: p.Subject, Limits: limits, LimitsOf: p.Of, Weight: p.Weight, At: p.At, Age: p.Age,
		Receipt: p.Receipt, Reservation: p.Reservation, Budgets: budgets, BudgetsOf: p.BudgetsOf, Challenge: p.Challenge, ChallengeOf: p.ChallengeOf,
		Payload: p.Payload, Expires: p.Expires, Holder: p.Holder,
	}
	for _, left := range p.Left {
		back.Taken = append(back.Taken, guard.RefundTaken{Left: left})
	}
	return back, errors.Join(err, errBudgets)
}

// GuardLimits returns a limit of each kind: limit requests in 10 s.
func GuardLimits(limit int64) []guard.Limit {
	var all []guard.Limit
	for _, l := range CheckLimits(limit) {
		all = append(all, guard.Limit{Name: l.Name, Kind: guard.LimitKind(l.Kind), Limit: l.Limit, Window: l.Window, Burst: l.Burst, Cost: l.Cost})
	}
	return all
}

// TakenOf is what an answer tells refund of its limits; those that did not allow took nothing.
func TakenOf(rows []guard.LimitResult) (left []time.Duration) {
	for _, row := range rows {
		if !row.Allowed {
			row.ResetAfter = 0
		}
		left = append(left, row.ResetAfter)
	}
	return left
}

// TakenAtStart are the rows of limits of every kind, 2 in 10 s, that took one at the start.
func TakenAtStart() []guard.LimitResult {
	return []guard.LimitResult{
		{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second},
		{Allowed: true, Remaining: 1, ResetAfter: 20 * time.Second},
		{Allowed: true, Remaining: 1, ResetAfter: 10 * time.Second},
		{Allowed: true, Remaining: 1, ResetAfter: 5 * time.Second},
	}
}

// Answered fills in what an answer has where a table does not say.
func Answered(r guard.AdmitResult) guard.AdmitResult {
	if r.Challenge == "" {
		r.Challenge = guard.AdmitChallengeNone
	}
	if r.Limits == nil {
		r.Limits = []guard.LimitResult{}
	}
	if r.Budgets == nil {
		r.Budgets = []guard.BudgetResult{}
	}
	if r.Tiers == nil {
		r.Tiers = []guard.AdmitTiersResult{}
	}
	return r
}

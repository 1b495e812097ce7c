package suites

import (
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

func (p AdmitParams) Packed() guard.AdmitParams {
	return guard.AdmitParams{
		Subject: p.Subject, Blocks: p.Blocks, Limits: guard.PackLimit(p.Limits...).For(p.Of...), Weight: p.Weight, Receipt: p.Receipt,
		ReceiptOf: p.ReceiptOf, Dedup: p.Dedup, Repeats: p.Repeats, Budgets: guard.PackBudget(p.Budgets...).For(p.BudgetsOf...),
		Units: guard.PackUnitAmount(p.Units...), ChallengeOf: p.ChallengeOf, Estimate: p.Estimate, Hold: p.Hold,
		Reservation: p.Reservation, Tiers: guard.PackAdmitTiers(p.Tiers...), Escalation: guard.PackAdmitEscalation(p.Escalation...),
		StrikeMemory: p.StrikeMemory, CountRefused: p.CountRefused, Challenge: p.Challenge, ChallengeRequired: p.ChallengeRequired,
		Payload: p.Payload, Holder: p.Holder,
	}
}

// RefundParams are a call of refund, with rows that are not packed yet. Left is each limit's reset_after in the answer.
type RefundParams struct {
	Subject   fcall.Subject
	Limits    []guard.Limit
	Of        []fcall.Subject
	Left      []time.Duration
	Weight    int64
	At        time.Time
	Age       time.Duration
	Receipt   string
	Challenge string
	Payload   string
	Holder    string

	ChallengeOf fcall.Subject
}

func (p RefundParams) Packed() guard.RefundParams {
	var taken []guard.RefundTaken
	for _, left := range p.Left {
		taken = append(taken, guard.RefundTaken{Left: left})
	}
	return guard.RefundParams{
		Subject: p.Subject, Limits: guard.PackLimit(p.Limits...).For(p.Of...), Weight: p.Weight, At: p.At, Age: p.Age, Receipt: p.Receipt,
		Challenge: p.Challenge, ChallengeOf: p.ChallengeOf, Payload: p.Payload, Taken: guard.PackRefundTaken(taken...), Holder: p.Holder,
	}
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

package model

import (
	"slices"
	"time"
)

// A GuardBudget is a budget of the account of its unit; "" is money.
type GuardBudget struct {
	CostLimit
	Unit string
}

// An account is the budgets of a call with one unit. The model of the costs has each under a subject of its own.
type account struct {
	subject string
	unit    string
	places  []int // of its budgets in the call
	limits  []CostLimit
}

// accountOf is the subject of an account in the model of the costs.
func accountOf(subject, unit string) string {
	if unit == "" {
		return subject
	}
	return subject + "\x00" + unit
}

func accountsOf(subject string, budgets []GuardBudget) (all []account) {
	for place, b := range budgets {
		i := slices.IndexFunc(all, func(a account) bool { return a.unit == b.Unit })
		if i < 0 {
			i, all = len(all), append(all, account{subject: accountOf(subject, b.Unit), unit: b.Unit})
		}
		all[i].places, all[i].limits = append(all[i].places, place), append(all[i].limits, b.CostLimit)
	}
	return all
}

// Amount is what a call costs in a unit: Estimate of money, UnitEstimate of each other one.
func (c AdmitCall) Amount(unit string) int64 {
	if unit == "" {
		return c.Estimate
	}
	return c.UnitEstimate
}

// Covers reports whether the periods of all budgets contain the time after a wait.
func (m *Guard) Covers(budgets []GuardBudget, wait time.Duration) bool {
	return !slices.ContainsFunc(accountsOf("", budgets), func(a account) bool { return !m.costs.Covers(a.limits, wait) })
}

// reasons of budgets, the one that hides the others last.
var costReasons = []string{"none", "budget", "penalty", "too_large"}

// judgeAccounts says how the reservation of a call stands: its rows, the reason to refuse and the first budget of the account that refuses so,
// from 1. A known receipt reserves nothing, and neither does an account that has the reservation.
func (m *Guard) judgeAccounts(subject string, c AdmitCall, known bool) (rows []CostRow, reason string, refused int64, retry time.Duration, err error) {
	reason, rows = "none", make([]CostRow, len(c.Budgets))
	for _, a := range accountsOf(subject, c.Budgets) {
		cost, err := m.costs.Peek(a.subject, a.limits, c.Amount(a.unit), c.Reservation)
		if err != nil {
			return nil, "", 0, 0, err
		}
		reserves := !known && cost.Status != "reserved" && cost.Status != "settled"
		if !reserves {
			cost.Limits = passed(cost.Limits)
		}
		for i, place := range a.places {
			rows[place] = cost.Limits[i]
		}
		if !reserves {
			continue
		}
		retry = max(retry, cost.RetryAfter)
		if slices.Index(costReasons, cost.Reason) > slices.Index(costReasons, reason) {
			reason, refused = cost.Reason, int64(a.places[0]+1)
		}
	}
	if reason == "too_large" {
		retry = 0
	}
	return rows, reason, refused, retry, nil
}

// reserveAccounts reserves in each account that has no such reservation and is not only checked, and fills in the rows.
func (m *Guard) reserveAccounts(subject string, c AdmitCall, rows []CostRow) (changed bool) {
	for _, a := range accountsOf(subject, c.Budgets) {
		if c.Unreserved && a.unit != "" && c.UnitEstimate > 0 {
			continue
		}
		cost, reserved, _ := m.costs.Reserve(a.subject, CostReserve{
			Receipt: c.Reservation, Estimate: c.Amount(a.unit), Limits: a.limits, Hold: c.Hold, Penalty: c.Penalty,
		})
		if changed = changed || reserved; reserved {
			for i, place := range a.places {
				rows[place] = cost.Limits[i]
			}
		}
	}
	return changed
}

// GuardSettleResult is the answer of settle. Of its rows only Spent and Remaining are set; Outcomes has one for each.
type GuardSettleResult struct {
	Exceeded bool
	Penalty  time.Duration
	Limits   []CostRow
	Outcomes []string
}

// Settle answers settle: all accounts are settled, or none.
func (m *Guard) Settle(subject string, budgets []GuardBudget, reservation string, actual, inUnits int64) (r GuardSettleResult, changed bool, err error) {
	after := m.costs.Clone()
	r.Limits, r.Outcomes = make([]CostRow, len(budgets)), make([]string, len(budgets))
	for _, a := range accountsOf(subject, budgets) {
		one, stored, err := after.Settle(a.subject, reservation, AdmitCall{Estimate: actual, UnitEstimate: inUnits}.Amount(a.unit), a.limits)
		if err != nil {
			return GuardSettleResult{}, false, err
		}
		changed = changed || stored
		r.Exceeded, r.Penalty = r.Exceeded || one.Exceeded, max(r.Penalty, one.Penalty)
		for i, place := range a.places {
			r.Limits[place], r.Outcomes[place] = one.Limits[i], one.Outcome
		}
	}
	m.costs = after
	return r, changed, nil
}

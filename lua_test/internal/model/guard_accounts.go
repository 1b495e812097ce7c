package model

import (
	"maps"
	"time"
)

// cost is what a call reserves.
func (c AdmitCall) cost() CostReserve {
	return CostReserve{
		Receipt: c.Reservation, Estimate: c.Estimate, InUnits: c.UnitEstimate, Unreserved: c.Unreserved && c.UnitEstimate > 0, Limits: c.Budgets, Hold: c.Hold,
	}
}

// Amount is what a call costs in a unit: Estimate of money, UnitEstimate of each other one.
func (c AdmitCall) Amount(unit string) int64 { return c.cost().amount(unit) }

// Covers reports whether the periods of all budgets contain the time after a wait.
func (m *Guard) Covers(subject string, budgets []CostLimit, wait time.Duration) bool {
	return m.costs.Covers(subject, budgets, wait)
}

// judgeCosts says how the reservation of a call stands: a repeat reserves what its receipt has not paid before. A call whose reservation exists
// is free.
func (m *Guard) judgeCosts(subject string, c AdmitCall, known bool, before map[costKey]int64) (a costAnswer, free bool, err error) {
	if len(c.Budgets) == 0 {
		a.Reason = "none"
		return a, true, nil
	}
	cost := c.cost()
	if known {
		cost.paid = map[costKey]int64{}
		maps.Copy(cost.paid, before)
	}
	a, err = m.costs.judge(subject, cost)
	if _, settled := m.costs.reservations[[2]string{subject, c.Reservation}]; err != nil || !settled {
		return a, a.free, err
	}
	a.Reason, a.RetryAfter, a.Refused = "none", 0, 0
	for i := range a.Limits {
		a.Limits[i].Allowed, a.Limits[i].RetryAfter, a.rows[i].paid = true, 0, 0
	}
	return a, true, nil
}

package policy

import (
	"fmt"
	"time"
)

// checkEndpoint finds settings of an endpoint that need a section the policy does not have, or that never apply.
func (p *Policy) checkEndpoint(at string, e *Endpoint, found *problems) {
	if e.Abuse != "" && p.Abuse == nil {
		found.add(at+".abuse", "requires abuse.tiers: the policy has no abuse")
	}
	if e.Abuse == CountAll && p.Abuse != nil {
		for i, t := range p.Abuse.Tiers {
			if t.Threshold == 1 {
				found.add(at+".abuse", "must not be all: the threshold of abuse.tiers[%d] is 1, so every request would be refused", i)
			}
		}
	}
	p.checkIdempotency(at+".idempotency", e, found)
	if e.Cost == nil {
		return
	}
	if p.Cost == nil {
		found.add(at+".cost", "requires cost.budgets: the policy has no cost")
		return
	}
	for i, b := range p.Cost.Budgets {
		if b.Budget > 0 && e.Cost.Estimate > b.Budget {
			found.add(at+".cost.estimate", "must be at most the budget %s of cost.budgets[%d], got %s: the estimate would never fit", b.Budget, i, e.Cost.Estimate)
		}
	}
}

func (c *Cost) check(at string, found *problems) {
	if len(c.Budgets) > 0 {
		return
	}
	if c.Hold != 0 {
		found.add(at+".hold", "has no effect without cost.budgets")
	}
	if c.Penalty != 0 {
		found.add(at+".penalty", "has no effect without cost.budgets")
	}
}

func (a *Abuse) check(at string, found *problems) {
	for i, t := range a.Tiers {
		for j, other := range a.Tiers {
			if i != j && other.covers(t) && (j < i || !t.covers(other)) {
				found.add(fmt.Sprintf("%s.tiers[%d]", at, i), "has no effect: tiers[%d] starts no later and blocks at least as long", j)
				break
			}
		}
	}
	a.checkEscalation(at, found)
}

// covers reports whether t blocks whenever other does, at least as long.
func (t Tier) covers(other Tier) bool {
	return t.Threshold <= other.Threshold && t.Window >= other.Window && t.Block >= other.Block
}

func (a *Abuse) checkEscalation(at string, found *problems) {
	memory := a.StrikeMemory
	if memory == 0 {
		memory = DefaultStrikeMemory
	}
	for i, block := range a.Escalation {
		if i < len(a.Escalation)-1 && block >= memory && memory > 0 {
			found.add(fmt.Sprintf("%s.escalation[%d]", at, i), "must be shorter than the strike memory %s, got %s: the next step would never be reached",
				FormatDuration(memory), FormatDuration(block))
		}
	}
	if a.StrikeMemory != time.Duration(0) && len(a.Escalation) == 0 {
		found.add(at+".strike_memory", "has no effect without abuse.escalation")
	}
}

package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

// checkPlans finds plans that no request can have, and limits and budgets that are out of bounds.
func (p *Policy) checkPlans(isBad func(path string) bool, found *problems) {
	if p.Plans == nil {
		return
	}
	p.checkPlansBy(found)
	known := p.limitsByName()
	p.eachPlan(func(at string, plan *Plan) {
		for _, name := range slices.Sorted(maps.Keys(plan.Limits)) {
			at := planLimitPath(at, name)
			l, ok := known[name]
			switch {
			case checkLimitName(name) != "": // reported by bounds
			case !ok:
				found.add(at, "unknown limit %s%s", quote(name), spelling.DidYouMean(name, slices.Sorted(maps.Keys(known))))
			case l.limit.By.Global():
				found.add(at, "must not be a global limit, which counts the requests of all plans together")
			case !isBad(l.at + ".kind"):
				plan.Limits[name].check(at, l.limit, p, found)
			}
		}
		p.checkPlanBudgets(at, plan, found)
	})
}

func (p *Policy) checkPlansBy(found *problems) {
	const at = "plans.by"
	by := p.Plans.By
	_, defined := p.Identities[by]
	switch {
	case checkIdentity(by) != "": // reported by bounds
	case by == ByAll:
		found.add(at, "must be an identity, not all")
	case !defined && by != ByIP && by != ByClient:
		found.add(at, "unknown identity %s%s", quote(by), spelling.DidYouMean(by, p.sourced()))
	case !p.isSourced(by):
		found.add(at, "must be an identity with a source of its own, got %s", quote(by))
	case !p.Verified(by):
		found.add(at, "must be a verified identity: any client can claim a plan by %s", quote(by))
	case p.OfAddress(by):
		found.add(at, "must not be an address identity: an address never names a plan")
	}
}

// check reports the problems that the limit has with the plan's values, and not without them.
func (c PlanLimit) check(at string, l *Limit, p *Policy, found *problems) {
	var own, differing problems
	changed := c.apply(*l)
	l.check(at, p, &own)
	changed.check(at, p, &differing)
	for _, problem := range differing {
		if !slices.Contains(own, problem) {
			found.add(strings.TrimSuffix(problem.Path, ".window"), "%s", problem.Message)
		}
	}
}

func (p *Policy) checkPlanBudgets(at string, plan *Plan, found *problems) {
	if len(plan.Budgets) > 0 && p.Cost == nil {
		found.add(at+".budgets", "requires cost.budgets: the policy has no cost")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Budgets)) {
		at, budget := planBudgetPath(at, name), plan.Budgets[name]
		var names []string
		for _, b := range p.Cost.Budgets {
			names = append(names, b.Name)
		}
		if !slices.Contains(names, name) {
			found.add(at, "unknown budget %s%s", quote(name), spelling.DidYouMean(name, names))
			continue
		}
		for i := range p.Endpoints {
			if c := p.Endpoints[i].Cost; c != nil && budget > 0 && c.Estimate > budget {
				found.add(at, "must be at least the estimate %s of endpoints[%d], got %s: the estimate would never fit", c.Estimate, i, budget)
			}
		}
	}
}

// eachPlan calls f with every plan and its path.
func (p *Policy) eachPlan(f func(at string, plan *Plan)) {
	if p.Plans == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.Plans.Named)) {
		plan := p.Plans.Named[name]
		f(structPath("plans.named", name), &plan)
	}
}

func planLimitPath(at, name string) string { return structPath(at+".limits", name) }

func planBudgetPath(at, name string) string {
	return fmt.Sprintf("%s.budgets[%s]", at, strconv.Quote(name))
}

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// Plans give some clients other limits and budgets, for example by what they pay for.
type Plans struct {
	// By is the identity whose value names the plan: with by: tier, tier=pro selects the plan pro. It must be verified and have a source
	// of its own. Other requests have the policy's limits. Required.
	By string `yaml:"by" policy:"required,is=identity"`
	// Named holds 1 to 32 plans; their names have 1 to 32 of A-Z a-z 0-9 _ -. Required.
	Named map[string]Plan `yaml:"named" policy:"required,items=1..32,is=name"`
}

// A Plan holds the limits and budgets that differ from the policy.
type Plan struct {
	// Limits holds the limits that differ, at most 1000, by ENDPOINT/LIMIT, or LIMIT for a limit of the whole policy. Global limits cannot
	// differ. Defaults to none.
	Limits map[string]PlanLimit `yaml:"limits" policy:"items=0..1000,is=limit"`
	// Budgets holds at most 16 budgets that differ, by name: 0.000001 to 1000000000, of a unit 1 to 1000000000000. Defaults to none.
	Budgets map[string]Micros `yaml:"budgets" policy:"items=0..16,is=name,0.000001..1000000000000"`
}

// A PlanLimit holds the values that differ in one limit. Its kind and window stay the same.
type PlanLimit struct {
	// Limit is the plan's limit, 1 to 1000000000000, for a sliding_log and a concurrency to 1000000. Defaults to that of the limit.
	Limit int64 `yaml:"limit" policy:"1..1000000000000,sliding_log=1..1000000,concurrency=1..1000000"`
	// Burst is the plan's burst, 1 to 1000000000000; for a gcra only. Defaults to that of the limit, or the plan's limit if it has none.
	Burst int64 `yaml:"burst" policy:"1..1000000000000"`
	// Weight is what a request of the plan takes, 1 to 1000000000000, for a concurrency to 1000. Defaults to that of the limit.
	Weight int64 `yaml:"weight" policy:"1..1000000000000,concurrency=1..1000"`
}

// Plan returns the name of the plan of a request with these subjects, or "". It does not allocate.
func (p *Policy) Plan(subjects []string) string {
	if p.Plans == nil {
		return ""
	}
	for _, s := range subjects {
		value, ok := strings.CutPrefix(s, p.Plans.By)
		if !ok || value == "" || value[0] != '=' {
			continue
		}
		if _, named := p.Plans.Named[value[1:]]; named {
			return value[1:]
		}
		return ""
	}
	return ""
}

// ForPlan returns the policy with a plan applied, and without plans; it is complete if p is. It shares unchanged parts with p.
// It returns p if there is no such plan.
func (p *Policy) ForPlan(name string) *Policy {
	if p.Plans == nil {
		return p
	}
	plan, ok := p.Plans.Named[name]
	if !ok {
		return p
	}
	c := *p
	c.Plans = nil
	c.Limits = plan.limits("", p.Limits)
	c.Endpoints = slices.Clone(p.Endpoints)
	for i := range c.Endpoints {
		c.Endpoints[i].Limits = plan.limits(c.Endpoints[i].Name, c.Endpoints[i].Limits)
	}
	c.Budgets = slices.Clone(p.Budgets)
	for i := range c.Budgets {
		b := &c.Budgets[i]
		b.Budget = cmp.Or(plan.Budgets[b.Name], b.Budget)
	}
	return &c
}

func (p *Plan) limits(endpoint string, limits []Limit) []Limit {
	limits = slices.Clone(limits)
	for i := range limits {
		limits[i] = p.Limits[agreed.LimitName(endpoint, limits[i].Name)].apply(limits[i])
	}
	return limits
}

// apply returns l with the values that differ.
func (c PlanLimit) apply(l Limit) Limit {
	l.Limit, l.Burst, l.Weight = cmp.Or(c.Limit, l.Limit), cmp.Or(c.Burst, l.Burst), cmp.Or(c.Weight, l.Weight)
	return l
}

// A namedLimit is a limit with its path.
type namedLimit struct {
	at    string
	limit *Limit
}

// limitsByName returns the limits of clients by their names in refusals.
func (p *Policy) limitsByName() map[string]namedLimit {
	known := map[string]namedLimit{}
	p.eachLimit(func(at, endpoint string, l *Limit) {
		if _, outbound := p.Upstream(endpoint); !outbound {
			known[agreed.LimitName(endpoint, l.Name)] = namedLimit{at, l}
		}
	})
	return known
}

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
			case !is("limit", name): // reported by bounds
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
	switch wrong := p.notSourced(by); {
	case !is("identity", by): // reported by bounds
	case wrong != "":
		found.add(at, "%s", wrong)
	case !p.Verified(by):
		found.add(at, "must be a verified identity: any client can claim a plan by %s", quote(by))
	case p.OfAddress(by):
		found.add(at, "must not be an address identity: an address never names a plan")
	}
	id := p.Identities[by]
	for _, name := range slices.Sorted(maps.Keys(p.Plans.Named)) {
		if len(id.OneOf) > 0 && !slices.Contains(id.OneOf, name) {
			found.add(structPath("plans.named", name), "never applies: one_of of identity %s lacks it, which also says which plan of several a client has", by)
		} else if folded := id.Fold.Value(name); folded != name {
			found.add(structPath("plans.named", name), "never applies: identity %s folds it to %s", by, quote(folded))
		}
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
	if len(plan.Budgets) > 0 && len(p.Budgets) == 0 {
		found.add(at+".budgets", "the policy has no budgets")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(plan.Budgets)) {
		at, amount := planBudgetPath(at, name), plan.Budgets[name]
		var names []string
		for _, b := range p.Budgets {
			names = append(names, b.Name)
		}
		place := slices.Index(names, name)
		if place < 0 {
			found.add(at, "unknown budget %s%s", quote(name), spelling.DidYouMean(name, names))
			continue
		}
		b := p.Budgets[place]
		b.Budget = amount
		b.checkAmount(at, found)
		for i := range p.Endpoints {
			if c := p.Endpoints[i].Cost; c != nil && amount > 0 && c.of(b.Unit) > amount {
				found.add(at, "must be at least the estimate %s of endpoints[%d], got %s: the estimate would never fit", c.of(b.Unit), i, amount)
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

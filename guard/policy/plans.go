package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/wire"
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
	// Budgets holds the budgets that differ, by name: 0.000001 to 1000000000. Defaults to none.
	Budgets map[string]Micros `yaml:"budgets" policy:"items=0..16,is=name,0.000001..1000000000"`
}

// A PlanLimit holds the values that differ in one limit. Its kind and window stay the same.
type PlanLimit struct {
	// Limit is the plan's limit, 1 to 1000000, for a quota to 16777216. Defaults to that of the limit.
	Limit int64 `yaml:"limit" policy:"1..1000000,quota=1..16777216"`
	// Burst is the plan's burst, 1 to 1000000; for a gcra only. Defaults to that of the limit, or to the plan's limit if it has none.
	Burst int64 `yaml:"burst" policy:"1..1000000"`
	// Cost is the plan's cost of a request, 1 to 1000000, for a concurrency to 1000. Defaults to that of the limit.
	Cost int64 `yaml:"cost" policy:"1..1000000,concurrency=1..1000"`
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
	if p.Cost != nil {
		c.Cost = new(*p.Cost)
		c.Cost.Budgets = slices.Clone(p.Cost.Budgets)
		for i := range c.Cost.Budgets {
			b := &c.Cost.Budgets[i]
			b.Budget = cmp.Or(plan.Budgets[b.Name], b.Budget)
		}
	}
	return &c
}

func (p *Plan) limits(endpoint string, limits []Limit) []Limit {
	limits = slices.Clone(limits)
	for i := range limits {
		limits[i] = p.Limits[wire.LimitName(endpoint, limits[i].Name)].apply(limits[i])
	}
	return limits
}

// apply returns l with the values that differ.
func (c PlanLimit) apply(l Limit) Limit {
	l.Limit, l.Burst, l.Cost = cmp.Or(c.Limit, l.Limit), cmp.Or(c.Burst, l.Burst), cmp.Or(c.Cost, l.Cost)
	return l
}

// completePlans fills in all values of the limits that differ.
func (p *Policy) completePlans() *Plans {
	if p.Plans == nil {
		return nil
	}
	c := &Plans{By: p.Plans.By, Named: make(map[string]Plan, len(p.Plans.Named))}
	known := p.limitsByName()
	for name, plan := range p.Plans.Named {
		limits := maps.Clone(plan.Limits)
		for at, differs := range limits {
			l := p.completeLimits([]Limit{differs.apply(*known[at].limit)})[0]
			limits[at] = PlanLimit{Limit: l.Limit, Burst: l.Burst, Cost: l.Cost}
		}
		c.Named[name] = Plan{Limits: limits, Budgets: maps.Clone(plan.Budgets)}
	}
	return c
}

// A namedLimit is a limit with its path.
type namedLimit struct {
	at    string
	limit *Limit
}

// limitsByName returns all limits by their names in refusals.
func (p *Policy) limitsByName() map[string]namedLimit {
	known := map[string]namedLimit{}
	p.eachLimit(func(at, endpoint string, l *Limit) { known[wire.LimitName(endpoint, l.Name)] = namedLimit{at, l} })
	return known
}

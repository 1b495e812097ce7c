package policy

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Plans give clients other limits than the policy's, by what they pay for or who they are.
type Plans struct {
	// By is the verified identity whose value names the plan, with a source of its own: tier, where tier=pro has the plan pro. A request
	// without it, or with another value, has the policy's limits. Required.
	By string `yaml:"by" policy:"required,is=identity"`
	// Named are the plans, 1 to 32; their names are 1 to 32 of A-Z a-z 0-9 _ -. Required.
	Named map[string]Plan `yaml:"named" policy:"required,items=1..32,is=name"`
}

// A Plan is what differs from the policy.
type Plan struct {
	// Limits are those that differ, as refusals name them: ENDPOINT/LIMIT, or LIMIT for one of the policy; at most 1000. No limit by: all
	// can differ. Defaults to none.
	Limits map[string]PlanLimit `yaml:"limits" policy:"items=0..1000,is=limit"`
	// Budgets are those that differ, by their names: 0.000001 to 1000000000. Defaults to none.
	Budgets map[string]Micros `yaml:"budgets" policy:"items=0..16,is=name,0.000001..1000000000"`
}

// A PlanLimit is what differs in one limit. Its kind, its window and the rest stay.
type PlanLimit struct {
	// Limit is 1 to 1000000. Defaults to that of the limit.
	Limit int64 `yaml:"limit" policy:"1..1000000"`
	// Burst is 1 to 1000000, for a gcra only. Defaults to that of the limit; where it has none, to the plan's Limit.
	Burst int64 `yaml:"burst" policy:"1..1000000"`
	// Cost is 1 to 1000000. Defaults to that of the limit.
	Cost int64 `yaml:"cost" policy:"1..1000000"`
}

// Plan returns the name of the plan that a request with these subjects has; "" for none. It does not allocate.
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

// ForPlan returns the policy as the requests of a plan have it: a policy without plans, complete if p is. It shares what does not differ with
// p. A name that no plan has returns p.
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
		limits[i] = p.Limits[WireName(endpoint, limits[i].Name)].of(limits[i])
	}
	return limits
}

// of returns a limit as it is with what differs.
func (c PlanLimit) of(l Limit) Limit {
	l.Limit, l.Burst, l.Cost = cmp.Or(c.Limit, l.Limit), cmp.Or(c.Burst, l.Burst), cmp.Or(c.Cost, l.Cost)
	return l
}

// completePlans fills in each value of each limit that differs.
func (p *Policy) completePlans() *Plans {
	if p.Plans == nil {
		return nil
	}
	c := &Plans{By: p.Plans.By, Named: make(map[string]Plan, len(p.Plans.Named))}
	known := p.limitsByName()
	for name, plan := range p.Plans.Named {
		limits := maps.Clone(plan.Limits)
		for at, differs := range limits {
			l := p.completeLimits([]Limit{differs.of(*known[at].limit)})[0]
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

// limitsByName returns all limits by the names that refusals have.
func (p *Policy) limitsByName() map[string]namedLimit {
	known := map[string]namedLimit{}
	p.eachLimit(func(at, endpoint string, l *Limit) { known[WireName(endpoint, l.Name)] = namedLimit{at, l} })
	return known
}

package policy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// Plans give some clients other limits and budgets, for example by what they pay for. A file has their values beside the limit or budget:
// limit: {default: 10, pro: 100}.
type Plans struct {
	// By is the identity whose value names the plan: with by: tier, tier=pro selects the plan pro. It must be verified and have a source
	// of its own. Other requests have the default. Required.
	By string `yaml:"by" policy:"required,is=identity"`
	// Named holds 1 to 32 plans by name.
	Named map[string]Plan
}

// A Plan holds the limits and budgets that differ from the policy.
type Plan struct {
	Limits  map[string]PlanLimit // by ENDPOINT/LIMIT, or LIMIT for a limit of the whole policy
	Budgets map[string]Micros    // by name
}

// A PlanLimit holds the values that differ in one limit; 0 for those of the limit. Its kind and window stay the same. A gcra without a burst has the plan's limit.
type PlanLimit struct {
	Limit, Burst, Weight int64
}

// A planValue is a value of a file for one plan.
type planValue struct {
	at, key, plan string // the path of the limit or budget
	number        int64
	window        time.Duration // of a rate
}

// plans reads the values of a key by plan. It fills in the default, and keeps the others until limits have names.
func (d *decoder) plans(at string, f *field, n ast.Node, v reflect.Value) {
	path := join(at, f.key)
	entries, ok := d.entries(path, n)
	if !ok {
		return
	}
	for _, e := range entries {
		one := structPath(path, e.key)
		d.at[one] = e.where()
		value := reflect.New(v.Type()).Elem()
		found := len(d.found)
		if d.decode(one, e.value, value); len(d.found) > found {
			continue
		}
		if e.key == defaultPlan {
			v.Set(value)
			continue
		}
		p := planValue{at: at, key: f.key, plan: e.key}
		message := formats["name"].check(e.key)
		if f.key == "rate" {
			var wrong string
			p.number, p.window, wrong = parseRate(value.String())
			message = cmp.Or(message, wrong)
		} else if p.number = value.Int(); p.number <= 0 {
			message = cmp.Or(message, "must be more than 0")
		}
		if message != "" {
			d.wrong(one, e.value, "%s", message)
			continue
		}
		d.byPlan = append(d.byPlan, p)
	}
	switch {
	case d.at[structPath(path, defaultPlan)] != nil:
	case f.required:
		d.wrong(path, n, "must have a default, which is for clients without a plan")
	default:
		delete(d.at, path) // they have that of the limit
	}
}

// defaultPlan is the key of the value for clients without a plan.
const defaultPlan = "default"

// addPlans fills in the plans with what the file has beside limits and budgets.
func (d *decoder) addPlans(p *Policy) {
	if len(d.byPlan) == 0 {
		return
	}
	if p.Plans == nil {
		one := d.byPlan[0]
		d.found = append(d.found, d.locate(Problem{Path: structPath(join(one.at, one.key), one.plan), Message: "requires plans: {by: IDENTITY}, whose value names the plan of a client"}))
		return
	}
	p.Plans.Named = map[string]Plan{}
	limits := map[string]namedLimit{}
	p.eachLimit(func(at, endpoint string, l *Limit) { limits[at] = namedLimit{agreed.LimitName(endpoint, l.Name), l} })
	for _, one := range d.byPlan {
		path := structPath(join(one.at, one.key), one.plan)
		l, isLimit := limits[one.at]
		plan, wrong := p.Plans.Named[one.plan], ""
		switch {
		case strings.HasPrefix(one.at, "upstreams"):
			wrong = "cannot differ by plan: the limits and budgets of an upstream count its accounts"
		case !isLimit:
			i, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(one.at, "budgets["), "]"))
			if plan.Budgets == nil {
				plan.Budgets = map[string]Micros{}
			}
			plan.Budgets[p.Budgets[i].Name] = Micros(one.number)
		case one.key == "rate" && one.window != l.limit.Window:
			wrong = "must have the window of the default, " + FormatDuration(l.limit.Window)
		default:
			if plan.Limits == nil {
				plan.Limits = map[string]PlanLimit{}
			}
			values := plan.Limits[l.at]
			switch one.key {
			case "burst":
				values.Burst = one.number
			case "weight":
				values.Weight = one.number
			default:
				values.Limit = one.number
			}
			plan.Limits[l.at] = values
		}
		p.Plans.Named[one.plan] = plan
		if wrong != "" {
			d.found = append(d.found, d.locate(Problem{Path: path, Message: wrong}))
		}
	}
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
	if len(p.Plans.Named) == 0 && !isBad("limits") && !isBad("endpoints") && !isBad("budgets") {
		found.add("plans", "has no effect: no limit or budget has a value for a plan, as in limit: {default: 10, pro: 100}")
	}
	if n := len(p.Plans.Named); n > 32 {
		found.add("plans", "must have at most 32 plans, got %d", n)
	}
	known := p.limitsByName()
	for _, name := range slices.Sorted(maps.Keys(p.Plans.Named)) {
		plan := p.Plans.Named[name]
		for _, limit := range slices.Sorted(maps.Keys(plan.Limits)) {
			l, ok := known[limit]
			switch {
			case !ok:
				found.add("plans", "unknown limit %s%s", quote(limit), spelling.DidYouMean(limit, slices.Sorted(maps.Keys(known))))
			case l.limit.By.Global():
				found.add(structPath(l.at+".limit", name), "must not differ in a global limit, which counts the requests of all plans together")
			case !isBad(l.at + ".kind"):
				plan.Limits[limit].check(l.at, name, l.limit, p, found)
			}
		}
		p.checkPlanBudgets(name, &plan, found)
	}
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
			found.add(at, "plan %s never applies: one_of of identity %s lacks it, which also says which plan of several a client has", quote(name), by)
		} else if folded := id.Fold.Value(name); folded != name {
			found.add(at, "plan %s never applies: identity %s folds it to %s", quote(name), by, quote(folded))
		}
	}
}

// check reports the problems that the limit has with the plan's values, and not without them.
func (c PlanLimit) check(at, plan string, l *Limit, p *Policy, found *problems) {
	var own, differing problems
	changed := c.apply(*l)
	for _, of := range []struct {
		limit *Limit
		found *problems
	}{{l, &own}, {&changed, &differing}} {
		b := bounds{found: of.found, given: func(string) bool { return false }}
		b.section(at, reflect.ValueOf(of.limit).Elem(), of.limit.Kind)
		of.limit.check(at, p, of.found)
	}
	for _, problem := range differing {
		if slices.Contains(own, problem) {
			continue
		}
		path := at + ".limit"
		for _, key := range []string{".burst", ".weight"} {
			if strings.HasSuffix(problem.Path, key) {
				path = problem.Path
			}
		}
		found.add(structPath(path, plan), "%s", problem.Message)
	}
}

func (p *Policy) checkPlanBudgets(plan string, of *Plan, found *problems) {
	names := make([]string, len(p.Budgets))
	for i, b := range p.Budgets {
		names[i] = b.Name
	}
	for _, name := range slices.Sorted(maps.Keys(of.Budgets)) {
		place, amount := slices.Index(names, name), of.Budgets[name]
		if place < 0 {
			found.add("plans", "unknown budget %s%s", quote(name), spelling.DidYouMean(name, names))
			continue
		}
		at := structPath(fmt.Sprintf("budgets[%d].budget", place), plan)
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

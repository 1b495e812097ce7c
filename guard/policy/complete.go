package policy

import (
	"cmp"
	"maps"
	"reflect"
	"time"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// The defaults that hold in some cases only. All others are in the tags of the fields.
const (
	defaultLease        = 30 * time.Second
	defaultStrikeMemory = 30 * day
)

// Complete checks a policy and returns a deep copy with every default filled in. Values that mean "off" stay zero:
// EndpointCost.Hold and Penalty. A complete policy does not change.
func (p *Policy) Complete() (*Policy, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	c := withDefaults(p)
	c.expandRates()
	c.completeIdentities()
	c.completeUpstreams()
	c.canonicalOverrides()
	c.eachLimit(func(_, _ string, l *Limit) { c.completeLimit(l) })
	for i := range c.Budgets {
		fill(&c.Budgets[i].OnFailure, c.OnFailure)
	}
	for i := range c.Blocks {
		b := &c.Blocks[i]
		fill(&b.OnFailure, c.OnFailure)
		if len(b.Escalation) > 0 {
			fill(&b.StrikeMemory, defaultStrikeMemory)
		}
	}
	if c.Plans != nil {
		known := p.withRates().limitsByName()
		c.Plans.Named = maps.Clone(c.Plans.Named)
		for name, plan := range c.Plans.Named {
			plan.Limits = maps.Clone(plan.Limits)
			for limit, differs := range plan.Limits {
				l := withDefaults(differs.apply(*known[limit].limit))
				c.completeLimit(&l)
				plan.Limits[limit] = PlanLimit{Limit: l.Limit, Burst: l.Burst, Weight: l.Weight}
			}
			c.Plans.Named[name] = plan
		}
	}
	return c, nil
}

func (p *Policy) completeIdentities() {
	p.Identities = identity.Complete(p.Identities)
	if _, defined := p.Identities[ByClient]; !defined {
		p.Identities[ByClient] = Identity{First: []string{ByIP}}
	}
}

func (p *Policy) completeLimit(l *Limit) {
	fill(&l.OnFailure, p.OnFailure)
	switch l.Kind {
	case GCRA:
		fill(&l.Burst, l.Limit)
	case Concurrency:
		fill(&l.Lease, defaultLease)
	}
}

func fill[T comparable](value *T, byDefault T) { *value = cmp.Or(*value, byDefault) }

// withDefaults returns a deep copy with the defaults of the fields' tags.
func withDefaults[T any](v T) T { return copyWithDefaults(reflect.ValueOf(v)).Interface().(T) }

func copyWithDefaults(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	switch {
	case v.Kind() == reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			value := v.Field(f.index)
			if value.IsZero() && f.byDefault.IsValid() {
				value = f.byDefault
			}
			c.Field(f.index).Set(copyWithDefaults(value))
		}
	case v.Kind() == reflect.Pointer && !v.IsNil():
		c.Set(reflect.New(v.Type().Elem()))
		c.Elem().Set(copyWithDefaults(v.Elem()))
	case v.Kind() == reflect.Slice && !v.IsNil():
		c.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			c.Index(i).Set(copyWithDefaults(v.Index(i)))
		}
	case v.Kind() == reflect.Map && !v.IsNil():
		c.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		for _, key := range v.MapKeys() {
			c.SetMapIndex(key, copyWithDefaults(v.MapIndex(key)))
		}
	}
	return c
}

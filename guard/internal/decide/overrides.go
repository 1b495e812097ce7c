package decide

import (
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Overrides are the active exceptions for single subjects. Nil means none.
type Overrides struct {
	topUps   map[topUpKey]fcall.Micros // of a unit, whole ones
	lookup   *policy.Lookup
	multiply bool // some subject has a factor
	allow    bool // some subject has no limits
}

// A topUpKey is the budget that has a top-up, and its subject.
type topUpKey struct{ subject, budget string }

// Overrides returns the active overrides.
func (rules *Rules) Overrides() *Overrides { return rules.overrides.Load() }

// Override replaces those set at run time from the next request on.
func (rules *Rules) Override(atRuntime map[string]policy.Override, topUps []policy.TopUp) {
	o := rules.Policy.OverridesWith(atRuntime)
	if len(o.Allow)+len(o.Deny)+len(o.Multiply)+len(topUps) == 0 {
		rules.overrides.Store(nil)
		return
	}
	all := &Overrides{lookup: o.Lookup(), multiply: len(o.Multiply) > 0, allow: len(o.Allow) > 0, topUps: make(map[topUpKey]fcall.Micros, len(topUps))}
	for _, t := range topUps {
		all.topUps[topUpKey{t.Subject, t.Budget}] = fcall.Micros(t.Amount)
	}
	rules.overrides.Store(all)
}

// Decide reports whether an override decides the request. A deny of any subject wins, and denied is that subject.
func (o *Overrides) Decide(r *Request) (denied string, decided bool) {
	if o == nil {
		return "", false
	}
	for _, subjects := range [][]string{r.Subjects, r.Also} {
		for _, s := range subjects {
			if o.lookup.Of(s).Deny {
				return s, true
			}
		}
	}
	for _, s := range r.Subjects {
		if o.lookup.Of(s).Allow {
			return "", true
		}
	}
	return "", false
}

// Lifts reports whether an override raises or removes limits of some subject; a top-up raises a budget.
func (o *Overrides) Lifts() bool { return o != nil && (o.allow || o.multiply) }

// Multiplied returns the factors of subjects that have one.
func (o *Overrides) Multiplied(subjects []string) map[string]int64 {
	times := map[string]int64{}
	if o == nil {
		return times
	}
	for _, s := range subjects {
		if n := o.lookup.Of(s).Multiply; n > 1 {
			times[s] = n
		}
	}
	return times
}

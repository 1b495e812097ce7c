package plan

import "github.com/rlfunc/rlfunc/guard/policy"

// Overrides are the exceptions for single subjects that hold now. Nil Overrides say nothing.
type Overrides struct {
	lookup   *policy.Lookup
	multiply bool // some subject has more than once
}

// Overrides returns those that hold now: the policy's, or what Override gave last.
func (ps *Plans) Overrides() *Overrides { return ps.overrides.Load() }

// Override replaces the overrides, from the next request on.
func (ps *Plans) Override(o policy.Overrides) {
	if len(o.Allow)+len(o.Deny)+len(o.Multiply) == 0 {
		ps.overrides.Store(nil)
		return
	}
	ps.overrides.Store(&Overrides{lookup: o.Lookup(), multiply: len(o.Multiply) > 0})
}

// Decide returns whether the overrides decide a request: by a deny of any subject, which it returns, else by an allow of any.
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

// Multiplied returns the subjects that have more than once, and how many times.
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

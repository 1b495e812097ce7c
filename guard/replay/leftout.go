package replay

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// withoutUntold returns a policy without the limits that a log does not tell enough about, and these by the reason.
func withoutUntold(p *policy.Policy) (_ *policy.Policy, concurrent, counting []LeftOut) {
	without := func(endpoint string, limits []policy.Limit) []policy.Limit {
		return slices.DeleteFunc(slices.Clone(limits), func(l policy.Limit) bool {
			left := LeftOut{Name: wire.LimitName(endpoint, l.Name), By: l.By}
			switch {
			case l.Kind == policy.Concurrency:
				concurrent = append(concurrent, left)
			case l.Count != nil:
				counting = append(counting, left)
			default:
				return false
			}
			return true
		})
	}
	c := *p
	c.Limits, c.Endpoints = without("", p.Limits), slices.Clone(p.Endpoints)
	for i := range c.Endpoints {
		c.Endpoints[i].Limits = without(c.Endpoints[i].Name, c.Endpoints[i].Limits)
	}
	return &c, concurrent, counting
}

// leaveOut adds limits that were left out, and why.
func (r *Report) leaveOut(left []LeftOut, why string) {
	if len(left) == 0 {
		return
	}
	names := make([]string, len(left))
	for i := range left {
		names[i] = left[i].Name
	}
	r.LeftOut = append(r.LeftOut, left...)
	r.Notes = append(r.Notes, "Left out: "+strings.Join(names, ", ")+", "+why)
}

package replay

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// withoutConcurrency returns a policy without its limits of kind concurrency, and these.
func withoutConcurrency(p *policy.Policy) (*policy.Policy, []LeftOut) {
	var left []LeftOut
	without := func(endpoint string, limits []policy.Limit) []policy.Limit {
		return slices.DeleteFunc(slices.Clone(limits), func(l policy.Limit) bool {
			if l.Kind == policy.Concurrency {
				left = append(left, LeftOut{Name: wire.LimitName(endpoint, l.Name), By: l.By})
			}
			return l.Kind == policy.Concurrency
		})
	}
	c := *p
	c.Limits, c.Endpoints = without("", p.Limits), slices.Clone(p.Endpoints)
	for i := range c.Endpoints {
		c.Endpoints[i].Limits = without(c.Endpoints[i].Name, c.Endpoints[i].Limits)
	}
	return &c, left
}

func concurrencyNote(left []LeftOut) string {
	names := make([]string, len(left))
	for i := range left {
		names[i] = left[i].Name
	}
	return "Left out: " + strings.Join(names, ", ") + ", of kind concurrency. A log does not say which requests ran at the same time."
}

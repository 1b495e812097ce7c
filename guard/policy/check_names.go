package policy

import (
	"fmt"

	"github.com/rlfunc/rlfunc/internal/wire"
)

// maxWireName is the most bytes of ENDPOINT/LIMIT, as in library guard.
const maxWireName = 64

// checkNames finds names that would mean two things in Redis, in a header or in a metric.
func (p *Policy) checkNames(found *problems) {
	shared := names{found: found, first: map[string]string{}}
	shared.limits("limits", p.Limits)
	if p.Cost != nil {
		for i, b := range p.Cost.Budgets {
			shared.add(fmt.Sprintf("cost.budgets[%d].name", i), b.Name)
		}
	}
	endpoints := names{found: found, first: map[string]string{}}
	for i := range p.Endpoints {
		e, at := &p.Endpoints[i], fmt.Sprintf("endpoints[%d]", i)
		endpoints.add(at+".name", e.Name)
		own := names{found: found, first: map[string]string{}, endpoint: e.Name}
		own.limits(at+".limits", e.Limits)
	}
}

// names are the names of one scope, with the path of each one's first use.
type names struct {
	found    *problems
	first    map[string]string
	endpoint string // prefix of the names in Redis; "" for none
}

func (n *names) limits(at string, limits []Limit) {
	for i := range limits {
		n.add(fmt.Sprintf("%s[%d].name", at, i), limits[i].Name)
	}
}

func (n *names) add(at, name string) {
	if name == "" {
		return
	}
	if first, ok := n.first[name]; ok {
		n.found.add(at, "%s is already the name of %s", quote(name), first)
		return
	}
	n.first[name] = at
	if full := wire.LimitName(n.endpoint, name); n.endpoint != "" && len(full) > maxWireName && len(name) <= 32 && len(n.endpoint) <= 32 {
		n.found.add(at, "must have at most %d bytes together with the endpoint's name, got %d: %s", maxWireName, len(full), quote(full))
	}
}

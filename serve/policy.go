package serve

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// rejectPlaces returns an error for a limit of kind concurrency of an endpoint that forward-auth can reach: proxies do not report when a
// request ends. Package policy rejects those of descriptors. Programs renew and release the leases of other endpoints.
func rejectPlaces(p *policy.Policy) error {
	for i := range p.Endpoints {
		e := &p.Endpoints[i]
		limit := cmp.Or(concurrencyOf("", p.Limits), concurrencyOf(e.Name, e.Limits))
		if limit != "" && len(e.Match) > 0 {
			return fmt.Errorf("limit %s of endpoint %s is of kind concurrency, and proxies do not report when a request ends: remove the match of the "+
				"endpoint, so that only programs use it, or guard the service with httpguard or grpcguard", limit, e.Name)
		}
	}
	return nil
}

// concurrencyOf returns the name of the first limit of kind concurrency; "" if there is none.
func concurrencyOf(endpoint string, limits []policy.Limit) string {
	for i := range limits {
		if limits[i].Kind == policy.Concurrency {
			return wire.LimitName(endpoint, limits[i].Name)
		}
	}
	return ""
}

// rejectEmpty returns an error for an empty policy in place of another: the file was probably cut off, and all requests would pass.
func rejectEmpty(old, p *policy.Policy) error {
	if empty(p) && !empty(old) {
		return errors.New("the new policy has no limits and no endpoints, so every request would pass: restart the process if you want that")
	}
	return nil
}

func empty(p *policy.Policy) bool {
	return len(p.Limits) == 0 && len(p.Endpoints) == 0 && p.Unmatched != policy.UnmatchedRefuse
}

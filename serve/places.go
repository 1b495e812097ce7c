package serve

import (
	"fmt"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

// rejectConcurrency returns an error for a policy with a limit of kind concurrency: neither interface reports when a request ends.
func rejectConcurrency(p *policy.Policy) error {
	find := func(endpoint string, limits []policy.Limit) error {
		for i := range limits {
			if limits[i].Kind == policy.Concurrency {
				return fmt.Errorf("limit %s is of kind concurrency, and proxies do not report when a request ends: remove it, or guard the service with httpguard or grpcguard", wire.LimitName(endpoint, limits[i].Name))
			}
		}
		return nil
	}
	err := find("", p.Limits)
	for i := 0; err == nil && i < len(p.Endpoints); i++ {
		err = find(p.Endpoints[i].Name, p.Endpoints[i].Limits)
	}
	return err
}

package serve

import (
	"errors"

	"github.com/rlfunc/rlfunc/guard/policy"
)

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

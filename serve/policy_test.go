package serve

import (
	"testing"

	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestRejectEmpty(t *testing.T) {
	const limited, unlimited = "endpoints: [{name: a, limits: [{name: b, limit: 1, window: 1m}]}]", "endpoints: [{name: a, unbounded: true}]"
	for _, c := range []struct {
		old, replacement string
		rejected         bool
	}{
		{limited, "version: 1", true},
		{unlimited, "version: 1", true},
		{"limits: [{name: b, limit: 1, window: 1m}]", "version: 1", true},
		{limited, "unmatched: refuse", false},
		{limited, unlimited, false},
		{"version: 1", "version: 1", false},
	} {
		var both [2]*policy.Policy
		for i, text := range []string{c.old, c.replacement} {
			var err error
			if both[i], err = policy.Parse("limits.yaml", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := rejectEmpty(both[0], both[1]); (err != nil) != c.rejected {
			t.Errorf("%s after %s: %v", c.replacement, c.old, err)
		}
	}
}

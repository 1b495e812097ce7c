package policy_test

import (
	"fmt"
	"time"

	"github.com/rlfunc/rlfunc/guard/policy"
)

func ExampleParse() {
	_, err := policy.Parse("limits.yaml", []byte(`
endpoints:
  - name: search
    limits:
      - {name: minute, by: ip, limit: 0, window: 1m}
      - {name: day, by: ip, limit: 1000, windw: 1d}
`))
	fmt.Println(err)
	// Output:
	// limits.yaml:5:39: endpoints[0].limits[0].limit: must be 1 to 1000000000000, got 0
	// limits.yaml:6:9: endpoints[0].limits[1].window: is required
	// limits.yaml:6:42: endpoints[0].limits[1]: unknown key "windw"; did you mean window?
}

func ExamplePolicy_Check() {
	p := &policy.Policy{
		Identities: map[string]policy.Identity{"device": {Header: "X-Device", Claimed: true}},
		Endpoints: []policy.Endpoint{{
			Name:   "search",
			Limits: []policy.Limit{{Name: "minute", By: policy.By{"device"}, Limit: 60, Window: time.Minute}},
		}},
	}
	fmt.Println(p.Check())
	// Output:
	// endpoints[0]: no limit of "search" counts every request: minute uses the claimed identity device; add a limit with by: ip or by: all, or set unbounded: true
}

func ExamplePolicy_Complete() {
	p, err := policy.Parse("limits.yaml", []byte("limits: [{name: minute, limit: 60, window: 1m}]"))
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err = p.Complete()
	l := p.Limits[0]
	fmt.Println(l.By, l.Kind, l.Weight, l.OnFailure, p.Share, err)
	// Output: [client] sliding_log 1 local 0.25 <nil>
}

package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const dynamicPolicy = `
timeout: 10s
endpoints:
  - name: search
    limits: [{name: hour, by: ip, kind: fixed_window, limit: 3, window: 1h, dynamic_max: 1000, share: 0.5}]
overrides: {multiply: {"ip=203.0.113.8": 10}}
`

func TestDecide_rates(t *testing.T) {
	p, err := policy.Parse("limits.yaml", []byte(dynamicPolicy))
	if err != nil {
		t.Fatal(err)
	}
	rdb, _ := inProcess(t)
	g := newGuard(t, rdb, p, guard.Options{})
	first := func(g *guard.Guard, subject string, rates ...guard.Rate) guard.LimitState {
		return decide(t, g, guard.Request{Endpoint: "search", Subjects: []string{subject}, Rates: rates}).Limits[0]
	}
	rate := guard.Rate{Endpoint: "search", Limit: 50, Window: time.Hour}
	if l := first(g, "ip=203.0.113.7", rate); l.Limit != 50 || l.Remaining != 49 {
		t.Errorf("a rate: %+v", l)
	}
	if l := first(g, "ip=203.0.113.8", rate); l.Limit != 500 {
		t.Errorf("the factor of an override multiplies a rate: %+v", l)
	}
	if l := first(g, "ip=203.0.113.9", guard.Rate{Endpoint: "search", Limit: 2000, Window: 24 * time.Hour}, rate); l.Limit != 50 || l.Window != time.Hour {
		t.Errorf("of several rates, one that admits more than dynamic_max in an hour: %+v", l)
	}
	if l := first(g, "ip=203.0.113.10", guard.Rate{Endpoint: "search", Limit: 500, Window: 24 * time.Hour}, rate); l.Limit != 500 || l.Window != 24*time.Hour {
		t.Errorf("the smallest of several rates: %+v", l)
	}
	if l := first(g, "ip=203.0.113.7", guard.Rate{Endpoint: "other", Limit: 50, Window: time.Hour}); l.Limit != 3 {
		t.Errorf("a rate of another endpoint: %+v", l)
	}
	if l := first(alone(t, p, 1<<20), "ip=203.0.113.7", rate); l.Limit != 25 {
		t.Errorf("a process alone has its share of a rate: %+v", l)
	}
	for what, rates := range map[string][]guard.Rate{
		"a limit of 0":        {{Endpoint: "search", Window: time.Hour}},
		"a limit above 10^12": {{Endpoint: "search", Limit: 1_000_000_000_001, Window: time.Hour}},
		"no window":           {{Endpoint: "search", Limit: 1}},
		"a window of 3651 d":  {{Endpoint: "search", Limit: 1, Window: 3651 * 24 * time.Hour}},
	} {
		_, err := g.Decide(t.Context(), guard.Request{Endpoint: "search", Subjects: []string{"ip=203.0.113.7"}, Rates: rates})
		if !errors.Is(err, fcall.ErrArgument) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

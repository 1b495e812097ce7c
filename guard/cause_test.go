package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestDecide_reportsTheCauseOfAFallback(t *testing.T) {
	for _, contract := range []policy.OnFailure{policy.Open, policy.Closed} {
		p := chat(policy.Limit{Name: "minute", Limit: 10, Window: time.Minute, OnFailure: contract})
		p.Timeout = 20 * time.Millisecond
		g := newGuard(t, client(t, silentServer(t)), p, guard.Options{BreakAfter: 2, BreakFor: time.Hour})
		for i, want := range []error{guard.ErrTimeout, guard.ErrTimeout, guard.ErrBreaker} {
			d, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}})
			if contract == policy.Open && err == nil {
				err = d.Cause
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: decision %d: the cause is %v, want %v", contract, i+1, err, want)
			}
		}
	}
}

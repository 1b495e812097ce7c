package guard_test

import (
	"errors"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Tokens of a language model: two million per minute, and the largest limit for a month.
func TestDecide_countsLargeWeightsExactly(t *testing.T) {
	const most = 1_000_000_000_000
	rdb, _ := inProcess(t)
	p := chat(
		policy.Limit{Name: "tokens", Kind: policy.GCRA, Limit: 2_000_000, Window: time.Minute},
		policy.Limit{Name: "month", Kind: policy.FixedWindow, Limit: most, Window: 30 * 24 * time.Hour},
	)
	g := newGuard(t, rdb, p, guard.Options{})
	request := func(weight int64) guard.Request {
		return guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: weight}
	}
	d, err := g.Decide(t.Context(), request(1_500_000))
	if err != nil || !d.Allowed || d.Limits[0].Remaining != 500_000 || d.Limits[1].Remaining != most-1_500_000 {
		t.Errorf("1,500,000 tokens: %+v, %v", d, err)
	}
	d, err = g.Decide(t.Context(), request(500_001))
	if err != nil || d.Allowed || d.RetryAfter != 30*time.Microsecond {
		t.Errorf("one more than is left: %+v, %v", d, err)
	}
	d, n, err := g.WaitAtMost(t.Context(), request(most))
	if err != nil || n != 500_000 {
		t.Errorf("as many as there are: %d, %+v, %v", n, d, err)
	}
	if _, err := g.Decide(t.Context(), request(most+1)); !errors.Is(err, fcall.ErrArgument) {
		t.Errorf("a weight above 10^12: %v", err)
	}

	p.Share = 0.5
	d, err = alone(t, p, 1<<20).Decide(t.Context(), request(600_000))
	if err != nil || !d.Allowed || d.Limits[0].Remaining != 400_000 || d.Limits[1].Remaining != most/2-600_000 {
		t.Errorf("a process alone has half: %+v, %v", d, err)
	}
}

package steps_test

import (
	"context"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A weight that a limit can never fit is an error of the caller; of a shadow limit, it is a refusal that refuses nothing.
func TestAdmit_weightAboveAShadowLimit(t *testing.T) {
	live := suites.GuardLimits(2)
	shadows := suites.GuardLimits(2)
	for i := range shadows {
		shadows[i].Shadow = true
	}
	weight := func(n int64, limits []admitLimit) func(context.Context, guarded) (any, error) {
		return admit(admitParams{Limits: limits, Weight: n})
	}
	full := suites.TakenAtStart()
	empty := append([]admitRow{full[0]}, admitRow{Remaining: 2}, admitRow{Remaining: 2}, admitRow{Remaining: 2})
	charged := append([]admitRow{{Allowed: true, ResetAfter: 10 * time.Second}}, full[1:]...)
	for i := range charged[1:] {
		charged[i+1].Allowed = false
	}
	suites.Guards.Run(
		t,
		guardStep{Name: "an error of the caller", Call: weight(3, live[1:]), WantErr: fcall.ErrArgument},
		guardStep{Name: "each shadow limit alone, whole", Call: weight(3, shadows[3:]), Want: passesUntimed(admitRow{Remaining: 2})},
		guardStep{Name: "all of them; the log counts requests", Call: weight(3, shadows), Writes: true, Want: passes(empty...)},
		guardStep{Call: refund(suites.RefundParams{Limits: shadows, Left: suites.TakenOf(empty), Weight: 3}), Want: given},
	)
	suites.Guards.Run(
		t,
		guardStep{Call: weight(1, shadows), Writes: true, Want: passes(full...)},
		guardStep{Name: "what is left stays", Call: weight(3, shadows), Writes: true, Want: passes(charged...)},
	)
}

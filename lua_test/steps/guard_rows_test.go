package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

func TestRefund_refusesArguments(t *testing.T) {
	limits := suites.GuardLimits(2)
	heavy := suites.RefundParams{Limits: limits, Left: suites.TakenOf(suites.TakenAtStart()), At: luatest.Start, Weight: 3}
	for name, back := range map[string]suites.RefundParams{
		"a row too few":           {Limits: limits, Left: make([]time.Duration, 3)},
		"a row too many":          {Limits: limits, Left: make([]time.Duration, 5)},
		"no rows":                 {Limits: limits},
		"no limits":               {Left: make([]time.Duration, 1)},
		"what no call could take": heavy,
	} {
		t.Run(name, func(t *testing.T) {
			suites.Guards.Run(t, guardStep{Call: refund(back), WantErr: fcall.ErrArgument})
		})
	}
	suites.Guards.Run(t, guardStep{Name: "nothing at all", Call: refund(suites.RefundParams{}), Want: given})
}

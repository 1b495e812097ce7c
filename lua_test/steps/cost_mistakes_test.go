package steps_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// Mistake 12: money as floating point. Ten times a tenth is one, and the 16th digit is kept.
func TestMistake12_moneyIsWholeMicros(t *testing.T) {
	var steps []costStep
	for i := range fcall.Micros(10) {
		steps = append(steps, costStep{Call: reserves(reserve(fmt.Sprint(i), 100_000, within(1_000_000))), Writes: true, Want: granted(100_000, (i+1)*100_000, 1_000_000, window10)})
	}
	const most = 1_000_000_000_000_000
	steps = append(
		steps,
		costStep{Call: reserves(reserve("x", 1, within(1_000_000))), Want: over(1_000_000, 1_000_000, window10, window10)},
		costStep{Call: luatest.Call((*budget.Client).Reset, budget.ResetParams{Subject: "u1"}), Writes: true, Want: budget.ResetResult{Existed: true}},
		costStep{Call: reserves(reserve("a", most-1, within(most))), Writes: true, Want: granted(most-1, most-1, most, window10)},
		costStep{Call: reserves(reserve("b", 2, within(most))), Want: over(most-1, most, window10, window10)},
		costStep{Call: reserves(reserve("b", 1, within(most))), Writes: true, Want: granted(1, most, most, window10)},
	)
	for i := range fcall.Micros(8) {
		steps = append(steps, costStep{Call: settles(fmt.Sprint("over", i), most), Writes: true, Want: budget.SettleResult{Outcome: "unknown", Charged: most, Exceeded: true, Limits: []budget.SettleLimitsResult{}}})
	}
	steps = append(
		steps,
		costStep{Name: "past 2^53 nothing would be exact", Call: settles("more", most), WantErr: fcall.ErrArgument},
		costStep{Call: settles("more", 7_199_254_740_991), Writes: true, Want: budget.SettleResult{Outcome: "unknown", Charged: 7_199_254_740_991, Exceeded: true, Limits: []budget.SettleLimitsResult{}}},
		costStep{Call: settles("most", 1), WantErr: fcall.ErrArgument},
	)
	budgets.Run(t, steps...)
}

// Mistake 13: a clock that jumps. Set back, it stands still for the key; far ahead and back, the key is reset. And no
// function takes a time from its caller.
func TestMistake13_clockJumpsUnderABudget(t *testing.T) {
	if arg := regexp.MustCompile(`(?m)^--- @arg +\S+ +time\b.*$`).FindString(budget.Library.Code); arg != "" {
		t.Errorf("cost takes a time: %s", arg)
	}
	held := reserve("h", 100, within(1000))
	held.Hold = time.Minute
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Name: "set back: counted as of the newest charge", Advance: -4 * time.Minute, Call: reserves(held), Writes: true, TTLs: costKeys(24 * time.Minute), Want: granted(100, 700, 1000, 14*time.Minute)},
		costStep{Call: reserves(reserve("c", 301, within(1000))), Want: over(700, 1000, 5*time.Minute, 14*time.Minute)},
		costStep{Name: "one tick sooner", Advance: 5*time.Minute - time.Microsecond, Call: reserves(reserve("c", 301, within(1000))), Want: over(700, 1000, time.Microsecond, 9*time.Minute+time.Microsecond)},
		costStep{Advance: time.Microsecond, Call: reserves(reserve("c", 301, within(1000))), Writes: true, TTLs: costKeys(20 * time.Minute), Want: granted(301, 901, 1000, window10)},
		costStep{Name: "emptied a year ahead", Advance: 365 * day, Call: reserves(reserve("d", 1000, within(1000))), Writes: true, Want: granted(1000, 1000, 1000, window10)},
		costStep{Name: "no window is that long: the key is reset", Advance: -365 * day, Call: reserves(reserve("e", 900, within(1000))), Writes: true, TTLs: costKeys(20 * time.Minute), Want: granted(900, 900, 1000, window10)},
		costStep{Name: "and it holds", Call: reserves(reserve("f", 101, within(1000))), Want: over(900, 1000, window10, window10)},
	)
}

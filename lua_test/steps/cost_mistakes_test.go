package steps_test

import (
	"regexp"
	"testing"
	"time"

	budget "github.com/rlfunc/rlfunc/gen/cost"
)

// Mistake 13: a clock that jumps. Set back, it stands still for the key; far ahead and back, the key is reset. And no
// function takes a time from its caller.
func TestMistake13_clockJumpsUnderABudget(t *testing.T) {
	if arg := regexp.MustCompile(`(?m)^--- @arg +[a-z_]+ +time(\[.*)? .*$`).FindString(budget.Library.Code); arg != "" { // the optional ones are boundaries of periods
		t.Errorf("cost takes a time: %s", arg)
	}
	held := reserve("h", 100, within(1000))
	held.Hold = time.Minute
	budgets.Run(
		t,
		costStep{Call: reserves(reserve("a", 600, within(1000))), Writes: true, Want: granted(600, 600, 1000, window10)},
		costStep{Name: "set back: counted as of the newest charge", Advance: -4 * time.Minute, Call: reserves(held), Writes: true, TTLs: costKeys(4*time.Minute + keptFor(window10)), Want: granted(100, 700, 1000, 14*time.Minute)},
		costStep{Call: reserves(reserve("c", 301, within(1000))), Want: over(700, 1000, 5*time.Minute, 14*time.Minute)},
		costStep{Name: "one tick sooner", Advance: 5*time.Minute - time.Microsecond, Call: reserves(reserve("c", 301, within(1000))), Want: over(700, 1000, time.Microsecond, 9*time.Minute+time.Microsecond)},
		costStep{Advance: time.Microsecond, Call: reserves(reserve("c", 301, within(1000))), Writes: true, TTLs: costKeys(keptFor(window10) - time.Minute), Want: granted(301, 901, 1000, window10)},
		costStep{Name: "emptied a year ahead", Advance: 365 * day, Call: reserves(reserve("d", 1000, within(1000))), Writes: true, Want: granted(1000, 1000, 1000, window10)},
		costStep{Name: "no window is that long: the key is reset", Advance: -365 * day, Call: reserves(reserve("e", 900, within(1000))), Writes: true, TTLs: costKeys(keptFor(window10)), Want: granted(900, 900, 1000, window10)},
		costStep{Name: "and it holds", Call: reserves(reserve("f", 101, within(1000))), Want: over(900, 1000, window10, window10)},
	)
}

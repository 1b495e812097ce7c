package agreed_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/internal/agreed"
)

func TestMultiply_staysWithinBounds(t *testing.T) {
	const unit = 1_000_000
	limit := func(n, factor int64) int64 { return agreed.MultiplyLimit("gcra", n, factor) }
	log := func(n, factor int64) int64 { return agreed.MultiplyLimit("sliding_log", n, factor) }
	raised := func(of string, more int64) func(n, factor int64) int64 {
		return func(n, factor int64) int64 { return agreed.RaiseBudget(of, n, factor, more) }
	}
	for _, c := range []struct {
		multiply          func(n, factor int64) int64
		n, factor, result int64
	}{
		{limit, 10, 2, 20},
		{limit, 1_000_000, agreed.MaxFactor, agreed.MaxLimit},
		{limit, 1_000_001, agreed.MaxFactor, agreed.MaxLimit},
		{limit, agreed.MaxLimit, agreed.MaxFactor, agreed.MaxLimit},
		{log, 1000, 1000, 1_000_000},
		{log, 1001, 1000, 1_000_000},
		{log, 1_000_000, 1, 1_000_000},
		{limit, 0, 5, 0},
		{raised("", 0), 5 * unit, 10, 50 * unit},
		{raised("", 3), 5 * unit, 10, 50*unit + 3},
		{raised("", 0), agreed.MaxBudget, 1_000_000, agreed.MaxBudget},
		{raised("", 0), agreed.MaxBudget/2 + 1, 2, agreed.MaxBudget},
		{raised("", agreed.MaxBudget), agreed.MaxBudget - 1, 1, agreed.MaxBudget},
		{raised("tokens", agreed.MaxBudget), 1, 1, agreed.MaxUnits / unit},
		{raised("tokens", 2), agreed.MaxUnits / unit / 2, 1, agreed.MaxUnits/unit/2 + 2},
	} {
		if got := c.multiply(c.n, c.factor); got != c.result {
			t.Errorf("%d times %d: got %d, want %d", c.n, c.factor, got, c.result)
		}
	}
}

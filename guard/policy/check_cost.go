package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// maxUnits is the most units of a call of guard.admit, besides money.
const maxUnits = 4

// unitsOf returns the units that budgets have besides money, in their order.
func unitsOf(budgets []Budget) []string {
	var units []string
	for _, b := range budgets {
		if b.Unit != "" && !slices.Contains(units, b.Unit) {
			units = append(units, b.Unit)
		}
	}
	return units
}

func checkBudgets(at string, budgets []Budget, found *problems) {
	for i := range budgets {
		budgets[i].check(fmt.Sprintf("%s[%d]", at, i), found)
	}
	if units := unitsOf(budgets); len(units) > maxUnits {
		found.add(at, "must have at most %d units besides money, got %d: %s", maxUnits, len(units), strings.Join(units, ", "))
	}
}

func (b *Budget) check(at string, found *problems) {
	switch {
	case b.Window == 0 && b.Every == "":
		found.add(at+".window", "is required of a budget without every")
	case b.Window != 0 && b.Every != "":
		found.add(at+".window", "cannot be combined with every: a budget has a window that slides, or periods of the calendar")
	case b.Every == "" && b.Zone != "":
		found.add(at+".zone", "applies only to a budget with every")
	case b.Every == "" && b.Starts != "":
		found.add(at+".starts", "applies only to a budget with every")
	}
	for _, word := range [][2]string{{"name", b.Name}, {"unit", b.Unit}} { // keys in Redis have windows, too, which are numbers
		if word[1] != "" && '0' <= word[1][0] && word[1][0] <= '9' {
			found.add(at+"."+word[0], "must not begin with a digit, got %s", quote(word[1]))
		}
	}
	_, err := b.Calendar()
	checkCalendar(at, err, found)
	b.checkAmount(at+".budget", found)
}

// checkAmount checks the amount of a budget, whose bounds depend on its unit.
func (b *Budget) checkAmount(at string, found *problems) {
	switch {
	case b.Unit != "" && b.Budget%oneUnit != 0:
		found.add(at, "must be a whole number of %s, got %s", b.Unit, b.Budget)
	case b.Unit == "" && int64(b.Budget) > agreed.MaxBudget && int64(b.Budget) <= agreed.MaxUnits:
		found.add(at, "must be at most %s, got %s", Micros(agreed.MaxBudget), b.Budget)
	}
}

// ParseAmount reads an amount to add to the budget: of money a decimal number, of another unit a whole one.
func (b *Budget) ParseAmount(text string) (Micros, error) {
	amount, err := ParseMicros(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%w, got %s", err, quote(text))
	case amount <= 0:
		return 0, fmt.Errorf("must be more than 0, got %s", text)
	case b.Unit == "":
		return amount, nil
	case amount%oneUnit != 0:
		return 0, fmt.Errorf("must be a whole number of %s, got %s", b.Unit, text)
	}
	return amount / oneUnit, nil
}

// most returns the largest budget of the unit, in millionths.
func (b *Budget) most() int64 {
	if b.Unit != "" {
		return agreed.MaxUnits
	}
	return agreed.MaxBudget
}

// of returns the estimate in a unit, in millionths.
func (c *EndpointCost) of(unit string) Micros {
	if unit == "" {
		return c.Estimate
	}
	return Micros(c.Units[unit]) * oneUnit
}

// checkEstimates finds estimates of an endpoint that no budget takes, or that never fit. The budgets are at budgetsAt.
func checkEstimates(budgetsAt string, budgets []Budget, at string, estimates *EndpointCost, found *problems) {
	path := func(unit string) string {
		if unit == "" {
			return at + ".estimate"
		}
		return structPath(at+".units", unit)
	}
	units := unitsOf(budgets)
	for _, unit := range slices.Sorted(maps.Keys(estimates.Units)) {
		if !slices.Contains(units, unit) && is("name", unit) {
			found.add(path(unit), "no budget has the unit %s%s", quote(unit), spelling.DidYouMean(unit, units))
		}
	}
	for i, b := range budgets {
		if estimate := estimates.of(b.Unit); b.Budget > 0 && estimate > b.Budget {
			found.add(path(b.Unit), "must be at most the budget %s of %s[%d], got %s: the estimate would never fit", b.Budget, budgetsAt, i, estimate)
		}
	}
}

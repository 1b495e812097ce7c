package decide

import (
	"math"
	"slices"
	"strconv"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// An Amount is a cost in another unit than money: 1200 tokens.
type Amount struct {
	// Unit is a unit of the policy's budgets.
	Unit string
	// N is a whole number, 0 to 1000000000000000.
	N int64
}

// Unit is one of a unit in millionths, as policies and decisions have budgets.
const Unit = 1_000_000

// Millionths returns an amount as policies and decisions have it, given as Redis has it: of a unit, in whole ones. It is at most 2^63-1.
func Millionths(unit string, n fcall.Micros) fcall.Micros {
	if unit == "" {
		return n
	}
	return min(n, math.MaxInt64/Unit) * Unit
}

const maxAmount = 1_000_000_000_000_000 // see gen/guard

// CheckUnits returns an *fcall.ArgumentError of a function if an amount is out of bounds, or a unit has two.
func CheckUnits(function string, units []Amount) error {
	for i, a := range units {
		wrong := &fcall.ArgumentError{Function: function, Name: "Units"}
		switch {
		case a.N < 0 || a.N > maxAmount:
			wrong.Must, wrong.Got = "be 0 to "+strconv.FormatInt(maxAmount, 10)+" of "+strconv.Quote(a.Unit), strconv.FormatInt(a.N, 10)
		case slices.ContainsFunc(units[:i], func(other Amount) bool { return other.Unit == a.Unit }):
			wrong.Must, wrong.Got = "have one amount of each unit", "several of "+strconv.Quote(a.Unit)
		default:
			continue
		}
		return wrong
	}
	return nil
}

// InUnits returns the amounts with those that are given in their place. A given unit that is none of these is an *fcall.ArgumentError of a
// function.
func InUnits(function string, amounts, given []Amount) ([]Amount, error) {
	if err := CheckUnits(function, given); err != nil || len(given) == 0 {
		return amounts, err
	}
	amounts = slices.Clone(amounts)
	for _, a := range given {
		i := slices.IndexFunc(amounts, func(own Amount) bool { return own.Unit == a.Unit })
		if i < 0 {
			must := "be omitted: the request has budgets of money only"
			if len(amounts) > 0 {
				must = "be of the request's units:"
				for _, own := range amounts {
					must += " " + own.Unit
				}
			}
			return nil, &fcall.ArgumentError{Function: function, Name: "Units", Must: must, Got: strconv.Quote(a.Unit)}
		}
		amounts[i] = a
	}
	return amounts, nil
}

// packUnits returns amounts, which were checked, as rows of a call.
func packUnits(amounts []Amount, unreserved []string) guard.UnitAmountPack {
	if len(amounts) == 0 {
		return guard.UnitAmountPack{}
	}
	rows := make([]guard.UnitAmount, len(amounts))
	for i, a := range amounts {
		rows[i] = guard.UnitAmount{Unit: a.Unit, Amount: a.N, Unreserved: slices.Contains(unreserved, a.Unit)}
	}
	return guard.MustPackUnitAmount(rows...)
}

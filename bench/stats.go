package main

import (
	"math"
	"slices"
)

// A Spread is what several measurements of one thing say.
type Spread struct {
	Median float64
	Low    float64 // a quarter of the measurements is below
	High   float64 // a quarter is above
}

func spread(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Median: quantile(sorted, 0.5), Low: quantile(sorted, 0.25), High: quantile(sorted, 0.75)}
}

// undisturbed is the measurement that a tenth of them is below: what other work adds only ever makes them larger.
func undisturbed(values []float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), 0.1)
}

// quantile interpolates between the two nearest of the sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func exactly(v float64) Spread { return Spread{Median: v, Low: v, High: v} }

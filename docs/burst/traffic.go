package main

import (
	"context"
	"time"
)

// offered returns the times of the requests. The first one begins a fixed window. Ten follow in the last seconds of that
// minute, twelve in the first seconds of the next, and then one every four seconds.
func offered() []time.Duration {
	at := []time.Duration{0}
	for i := range 10 {
		at = append(at, 51*time.Second+time.Duration(i)*900*time.Millisecond)
	}
	for i := range 12 {
		at = append(at, 60*time.Second+time.Duration(i)*800*time.Millisecond)
	}
	for t := 72 * time.Second; t < length; t += 4 * time.Second {
		at = append(at, t)
	}
	return at
}

const (
	length = 150 * time.Second // of a run
	window = time.Minute       // of every limiter
	limit  = 10
)

// A run has the answers of one limiter.
type run struct {
	kind
	Admitted, Refused []time.Duration
}

// play sends the requests to every limiter; advance moves the server's clock.
func play(ctx context.Context, kinds []kind, advance func(time.Duration)) ([]run, error) {
	runs := make([]run, len(kinds))
	for i, k := range kinds {
		runs[i].kind = k
	}
	var now time.Duration
	for _, at := range offered() {
		advance(at - now)
		now = at
		for i := range runs {
			r := &runs[i]
			allowed, err := r.ask(ctx)
			if err != nil {
				return nil, err
			}
			if allowed {
				r.Admitted = append(r.Admitted, at)
			} else {
				r.Refused = append(r.Refused, at)
			}
		}
	}
	return runs, nil
}

// inWindow returns how many of the times count at a moment: t counts while t > at - window.
func inWindow(times []time.Duration, at time.Duration) int {
	count := 0
	for _, t := range times {
		if t <= at && t > at-window {
			count++
		}
	}
	return count
}

// Most returns the most admissions in any minute.
func (r run) Most() int {
	most := 0
	for _, t := range r.Admitted {
		most = max(most, inWindow(r.Admitted, t))
	}
	return most
}

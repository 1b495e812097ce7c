package guard

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/rlfunc/rlfunc/fcall"
)

// errDeadline is a decision that Redis did not make in time.
var errDeadline = errors.New("redis did not answer in time")

// A breaker leaves Redis alone for a while once several calls in a row were lost.
type breaker struct {
	cb *gobreaker.TwoStepCircuitBreaker[struct{}]
}

func newBreaker(after int, rest time.Duration, changed func(open bool)) *breaker {
	return &breaker{gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         "redis",
		MaxRequests:  1,
		Timeout:      rest,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return int(c.ConsecutiveFailures) >= after },
		IsSuccessful: func(err error) bool { return !lost(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			switch {
			case to == gobreaker.StateOpen && from == gobreaker.StateClosed:
				changed(true)
			case to == gobreaker.StateClosed:
				changed(false)
			}
		},
	})}
}

// allow returns what to tell the outcome to, or an error while Redis is left alone.
func (b *breaker) allow() (func(error), error) { return b.cb.Allow() }

// lost tells that an error says nothing of the request: Redis did not answer, or could not decide.
func lost(err error) bool {
	return errors.Is(err, errDeadline) || errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) ||
		errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrOutcomeUnknown) || errors.Is(err, fcall.ErrNotLoaded)
}

package guard

import (
	"context"
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/rlfunc/rlfunc/fcall"
)

// Why there is no answer of Redis: causes of a fallback and of an [UnavailableError], beside what package fcall says of a call.
var (
	// ErrTimeout is an answer that did not come within the policy's timeout.
	ErrTimeout = errors.New("redis did not answer in time")
	// ErrBreaker is Redis that is left alone for a while, as several calls in a row were lost.
	ErrBreaker = errors.New("redis is left alone")
)

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
func (b *breaker) allow() (func(error), error) {
	done, err := b.cb.Allow()
	if err != nil {
		return nil, ErrBreaker
	}
	return done, nil
}

// lost tells that an error says nothing of the request: Redis did not answer, or could not decide.
func lost(err error) bool {
	return errors.Is(err, ErrTimeout) || errors.Is(err, ErrBreaker) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrOutcomeUnknown) || errors.Is(err, fcall.ErrNotLoaded)
}

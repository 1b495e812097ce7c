package property_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// A family is the functions that share a state, and what they are held against. C is the generated client's type, M the
// model's. See the package's documentation for how one is added.
type family[C any, M reference[M]] struct {
	name  string
	suite luatest.Suite[C]
	model func() M
	// keys are those that a subject may have: suffix and type, as the headers name them.
	keys []storedKey
	// share is how many times fewer histories are drawn at once, where one takes so much longer. Defaults to 1.
	share int
	// draw draws what a history's calls have in common, and returns how one of them is drawn.
	draw func(t *rapid.T) plan[C, M]
	// invariant returns a check that gets every reply of a history, zero after an error, and describes a violation; it knows
	// no model. May be nil.
	invariant func() func(now time.Time, subject string, params, reply any) (problem string)
}

// A reference is a model, as package model has them.
type reference[M any] interface {
	Move(to time.Time)
	Expiries(subject string) map[string]int64
	Clone() M
}

type storedKey struct{ suffix, kind string }

// A plan is how the calls of one history are drawn.
type plan[C, M any] struct {
	call  func(t *rapid.T) call[C, M]
	spans []time.Duration // windows and periods: moves of the clock are made of them
	// steady says that all calls have the same limits, so that a key never needs to be kept longer than it was written for.
	steady bool
}

// A call is one call of a function, by the client and by the model.
type call[C, M any] struct {
	function string
	subject  string
	params   any
	queue    func(ctx context.Context, client C, pipe redis.Pipeliner) func() (any, error)
	answer   func(model M) answer
}

func (c call[C, M]) String() string { return c.function + " " + readable(reflect.ValueOf(c.params)) }

// readable prints what is set of parameters, and what a pointer points to.
func readable(v reflect.Value) string {
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		return fmt.Sprint(v)
	case v.Kind() == reflect.Pointer:
		return readable(v.Elem())
	case v.Kind() == reflect.Slice:
		var rows []string
		for i := range v.Len() {
			rows = append(rows, "{"+readable(v.Index(i))+"}")
		}
		return "[" + strings.Join(rows, " ") + "]"
	case v.Kind() == reflect.Struct:
		var fields []string
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				fields = append(fields, v.Type().Field(i).Name+":"+readable(v.Field(i)))
			}
		}
		return strings.Join(fields, " ")
	case v.Kind() == reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v)
}

// An answer is what a call must give.
type answer struct {
	reply   any   // the generated result type
	err     error // by errors.Is; then there is no reply
	changed bool  // whether any key may change
	// touches returns the keys, by suffix; nil means all.
	touches func(suffix string) bool
	// refused says that the same call passes after retry and not a tick sooner, if nothing else happens.
	refused     bool
	retry, tick time.Duration
	// passes reports whether another answer to the same call passed; nil if nothing is ever refused.
	passes func(reply any) bool
}

// packed is queued for a call whose rows may break a rule, so that they cannot be packed.
func packed[C, P any, Q interface{ Result() (R, error) }, R any](method func(C, context.Context, redis.Pipeliner, P) Q, pack func() (P, error)) func(context.Context, C, redis.Pipeliner) func() (any, error) {
	params, err := pack()
	if err != nil {
		var none R
		return func(context.Context, C, redis.Pipeliner) func() (any, error) {
			return func() (any, error) { return none, err }
		}
	}
	return queued(method, params)
}

// queued makes a call's queue from the generated method that queues it.
func queued[C, P any, Q interface{ Result() (R, error) }, R any](method func(C, context.Context, redis.Pipeliner, P) Q, params P) func(context.Context, C, redis.Pipeliner) func() (any, error) {
	return func(ctx context.Context, client C, pipe redis.Pipeliner) func() (any, error) {
		pending := method(client, ctx, pipe, params)
		return func() (any, error) { return pending.Result() }
	}
}

package luatest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
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
	// draw draws what a history's calls have in common, and returns how one of them is drawn.
	draw func(t *rapid.T) plan[C, M]
	// invariant returns a check that is told every reply of a history, zero after an error, and says what is wrong; it knows
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

func (c call[C, M]) String() string {
	text := fmt.Sprintf("%+v", c.params)
	// The bucket is in it, and pointers.
	if v := reflect.ValueOf(c.params); v.Kind() == reflect.Struct {
		var fields []string
		for i := range v.NumField() {
			f := v.Field(i)
			for f.Kind() == reflect.Pointer && !f.IsNil() {
				f = f.Elem()
			}
			if !f.IsZero() || v.Field(i).Kind() == reflect.Pointer {
				fields = append(fields, fmt.Sprintf("%s:%#v", v.Type().Field(i).Name, readable(f)))
			}
		}
		text = strings.Join(fields, " ")
	}
	return c.function + " " + text
}

func readable(f reflect.Value) any {
	if d, ok := f.Interface().(time.Duration); ok {
		return unquoted(d.String())
	}
	if s, ok := f.Interface().(fcall.Subject); ok {
		return string(s)
	}
	return f.Interface()
}

type unquoted string

func (t unquoted) GoString() string { return string(t) }

// An answer is what a call must give.
type answer struct {
	reply   any   // the generated result type
	err     error // by errors.Is; then there is no reply
	changed bool  // whether any key may change
	// refused says that the same call passes after retry and not a tick sooner, if nothing else happens.
	refused     bool
	retry, tick time.Duration
	// passes tells, of another answer to the same call, whether it passed. Nil where nothing is ever refused.
	passes func(reply any) bool
}

// queued makes a call's queue from the generated method that queues it.
func queued[C, P any, Q interface{ Result() (R, error) }, R any](method func(C, context.Context, redis.Pipeliner, P) Q, params P) func(context.Context, C, redis.Pipeliner) func() (any, error) {
	return func(ctx context.Context, client C, pipe redis.Pipeliner) func() (any, error) {
		pending := method(client, ctx, pipe, params)
		return func() (any, error) { return pending.Result() }
	}
}

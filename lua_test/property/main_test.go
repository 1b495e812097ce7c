// Package property_test holds the functions against models in plain Go (package model). Its tests draw histories of calls and moves
// of the clock, ask the model, and play each history on every engine:
//
//   - TestProperty: every field of every reply, each key's presence and the millisecond in which it expires, and every byte
//     where nothing may change are as the model says; an invariant that knows no model holds; one tick before its
//     retry_after a refused call is refused again, and at it passes.
//   - TestLinearizable: the answers to concurrent callers, while the clock goes on, are those of the model in some order.
//
// go test tries some hundred histories; make soak goes on for RLFUNC_SOAK, a duration in all or a number of histories
// each, and prints how much was checked. A failure prints the shortest history that was found, and how to run it again.
//
// To add functions that share a state:
//
//  1. Write their model in ../internal/model/NAME.go, from the specification and the headers, not from the Lua: Move, Clone,
//     Expiries (by key suffix, in unix milliseconds), and one method for each function, which also reports whether a key may
//     have changed. Where a method takes the generated parameters and returns the generated result, made joins the two. Methods
//     never change stored values in place, so that Clone is cheap.
//  2. Write a family in NAME_test.go, as limits_test.go has it: its keys (suffix and type), how the limits of a history
//     and then its calls are drawn, for each function a call that joins the generated Queue method to the model's (by made or
//     judged), and perhaps an invariant. An answer says what the model knows: the reply or the error, changed, and of a
//     refused call retry and tick, which are then probed.
//  3. Add the family to families in main_test.go, and a legal call of each function to wireCalls in ../wire/calls_test.go: a
//     function without one fails a test.
package property_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// families is every function that has a model. A new one is a line here; see the package's documentation.
var families = []interface {
	properties(t *testing.T, much amount)
	linearizable(t *testing.T, much amount)
}{
	limitFamily,
	costFamily,
	abuseFamily,
	challengeFamily,
	concurrencyFamily,
	guardFamily,
}

// largest is the largest limit, burst, cost and weight.
const largest = 1_000_000_000_000

// shortHistories is the number of histories of a family without RLFUNC_SOAK. Real servers play half of them.
const shortHistories = 400

// TestProperty_modelAndEngineAgree draws histories of calls and moves of the clock, and holds every engine against the
// model: each field of each reply, each key's presence and expiry, every byte where nothing may change. The short version draws the
// same histories every time, so that a failure comes from the change under test, unless -rapid.seed says otherwise. RLFUNC_SOAK draws
// others, and more: a number of histories for each family on each engine, or how long all of it may take, about.
func TestProperty_modelAndEngineAgree(t *testing.T) {
	much := soak(t)
	if seed := flag.Lookup("rapid.seed"); much == (amount{}) && seed != nil && seed.Value.String() == "0" {
		flagOf(t, "rapid.seed", 1)
	}
	for _, f := range families {
		f.properties(t, much)
	}
}

func (f family[C, M]) properties(t *testing.T, much amount) {
	t.Run(f.name, func(t *testing.T) { f.propertiesOnEach(t, much) })
}

// each runs it on the embedded engine, the oldest and the newest servers: on those between, the tables of steps run.
func (f family[C, M]) each(t *testing.T, run func(*testing.T, *luatest.Server, C)) {
	suite := f.suite
	suite.Engines = suites.AtEnds
	suite.Each(t, run)
}

func (f family[C, M]) propertiesOnEach(t *testing.T, much amount) {
	share := max(f.share, 1)
	flagOf(t, "rapid.checks", max(much.batch()/share, 1))
	var drawn []history[C, M] // all engines play the same ones
	if much == (amount{}) {
		rapid.Check(t, func(rt *rapid.T) { drawn = append(drawn, f.history(rt)) })
	}
	f.each(t, func(t *testing.T, s *luatest.Server, client C) {
		p := player[C, M]{family: f, server: s, client: client}
		histories, calls := 0, tally{}
		count := func(h history[C, M]) {
			histories++
			for _, e := range h.events {
				calls[e.call.function]++
			}
		}
		drawAndPlay := func(rt *rapid.T) {
			h := f.history(rt)
			if problem := p.play(t, h); problem != "" {
				rt.Fatal(problem)
			}
			count(h)
		}
		for i, h := range drawn {
			if s.Engine != "embedded" && i >= max(len(drawn)/2, 1) { // a real server takes a round trip for each
				break
			}
			if problem := p.play(t, h); problem != "" {
				rapid.Check(t, drawAndPlay) // finds it again, and shortens it
				t.Fatalf("history %d failed, and passed when it was played again:\n%s", i+1, problem)
			}
			count(h)
		}
		for began := time.Now(); much != (amount{}) && !much.done(histories, time.Since(began)); {
			rapid.Check(t, drawAndPlay)
		}
		report(t, "property:   %-15s %-10s %8d histories, %9d calls agree with the model: %s", f.name, s.Engine, histories, calls.sum(), calls)
	})
}

// An amount is how much is tried: of histories, or of time for one family on one engine.
type amount struct {
	histories int
	time      time.Duration
}

// soak reads RLFUNC_SOAK. The zero amount is the short version.
func soak(t *testing.T) amount {
	t.Helper()
	text := os.Getenv("RLFUNC_SOAK")
	if text == "" {
		return amount{}
	}
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return amount{histories: n}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.Fatalf("RLFUNC_SOAK is %q; it must be a number of histories or a duration", text)
	}
	const tests = 2 // this one and TestLinearizable
	return amount{time: d / time.Duration(tests*len(families)*len(suites.AtEnds(t)))}
}

// batch is the number of histories that rapid draws at once.
func (a amount) batch() int {
	switch {
	case a.time > 0:
		return 100
	case a.histories > 0:
		return min(a.histories, 1000)
	case onpath.Raced():
		return shortHistories / 10
	case testing.Short():
		return shortHistories / 2
	}
	return shortHistories
}

// done reports whether a soak has tried enough.
func (a amount) done(histories int, took time.Duration) bool {
	if a.time > 0 {
		return took >= a.time
	}
	return histories >= a.histories
}

// A tally counts calls by function.
type tally map[string]int

func (y tally) sum() (calls int) {
	for _, n := range y {
		calls += n
	}
	return calls
}

func (y tally) String() string {
	var texts []string
	for _, function := range slices.Sorted(maps.Keys(y)) {
		texts = append(texts, fmt.Sprintf("%s %d", function, y[function]))
	}
	return strings.Join(texts, ", ")
}

// report says how much was checked: to the test's log, and of a soak to the terminal as well.
func report(t *testing.T, format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	if os.Getenv("RLFUNC_SOAK") != "" {
		fmt.Printf(format+"\n", args...)
	}
}

// flagOf sets a flag of package rapid, which has no other settings.
func flagOf(t *testing.T, name string, n int) {
	t.Helper()
	if err := flag.Set(name, strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) { engines.Main(m) }

type (
	attemptParams = abuse.AttemptParams
	attemptResult = abuse.AttemptResult
	attemptTier   = abuse.AttemptTiers
	issueParams   = challenge.IssueParams
	issueResult   = challenge.IssueResult
	checkLimit    = ratelimit.Limit
	checkResult   = ratelimit.CheckResult
	checkRow      = ratelimit.LimitResult
	checkParams   = suites.CheckParams
	logParams     = ratelimit.SlidingLogParams
	logResult     = ratelimit.SlidingLogResult
	admitLimit    = guard.Limit
	admitParams   = suites.AdmitParams
	admitResult   = guard.AdmitResult
	admitRow      = guard.LimitResult
	admitBudget   = guard.BudgetResult
	admitTier     = guard.AdmitTiersResult
	guarded       = suites.Guarded
)

const day = 24 * time.Hour

func cost(n int64) *int64 { return &n }

var consumed = challenge.ConsumeResult{Outcome: challenge.ConsumeOutcomeConsumed}

// lateMS is how much later the test's clock stores an expiry on a real server, as ../clock.lua says.
const lateMS = 3_153_600_000_000

// queueClock queues a move of a real server's clock. It reports false on the embedded engine, whose clock is moved between two
// pipelines.
func (p *player[C, M]) queueClock(ctx context.Context, pipe redis.Pipeliner, to time.Time) bool {
	if p.server.Engine == "embedded" {
		return false
	}
	for _, lib := range append([]*fcall.Library{p.family.suite.Library}, p.family.suite.ExtraLibraries...) {
		pipe.Do(ctx, "FCALL", lib.ServerName+"_set_clock", 0, strconv.FormatInt(to.UnixMicro(), 10))
	}
	return true
}

// endMS turns what PEXPIRETIME answers into the millisecond in which the key expires by the test's clock.
func (p *player[C, M]) endMS(answer int64) int64 {
	if answer < 0 || p.server.Engine == "embedded" {
		return answer
	}
	return answer - lateMS
}

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

// queued makes a call's queue from the generated method that queues it.
func queued[C, P any, Q interface{ Result() (R, error) }, R any](method func(C, context.Context, redis.Pipeliner, P) Q, params P) func(context.Context, C, redis.Pipeliner) func() (any, error) {
	return func(ctx context.Context, client C, pipe redis.Pipeliner) func() (any, error) {
		pending := method(client, ctx, pipe, params)
		return func() (any, error) { return pending.Result() }
	}
}

// made is a call of a function that refuses nobody, by the generated method that queues it and by the model's.
func made[C, M, P any, Q interface{ Result() (R, error) }, R any](function string, subject fcall.Subject, params P, method func(C, context.Context, redis.Pipeliner, P) Q, ask func(M, P) (R, bool, error)) call[C, M] {
	return call[C, M]{
		function: function, subject: string(subject), params: params, queue: queued(method, params),
		answer: func(m M) answer {
			r, changed, err := ask(m, params)
			if err != nil {
				return answer{err: fcall.ErrArgument}
			}
			return answer{reply: r, changed: changed}
		},
	}
}

// judged is made of a function that refuses: waits says of a reply whether it refuses and for how long, to a tick.
func judged[C, M, P any, Q interface{ Result() (R, error) }, R any](function string, subject fcall.Subject, params P, method func(C, context.Context, redis.Pipeliner, P) Q, ask func(M, P) (R, bool, error), tick time.Duration, waits func(R) (bool, time.Duration)) call[C, M] {
	c := made(function, subject, params, method, ask)
	plain := c.answer
	c.answer = func(m M) answer {
		a := plain(m)
		if a.err == nil {
			a.tick = tick
			a.refused, a.retry = waits(a.reply.(R))
			a.passes = func(reply any) bool { refused, _ := waits(reply.(R)); return !refused }
		}
		return a
	}
	return c
}

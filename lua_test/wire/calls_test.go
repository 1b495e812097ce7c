// Package wire_test sends arguments past the generated clients:
//
//   - TestArguments: each argument of each function, outside its bounds, gives RLARG and its name.
//   - FuzzArguments: raw arguments give RLARG or a reply that the client decodes.
package wire_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	budget "github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// A wireCall is a legal call as the wire has it, past its client.
type wireCall struct {
	name   string // the server's: "ratelimit_v1_gcra"
	flag   string // FCALL or FCALL_RO
	keys   []string
	args   []string
	decode func(ctx context.Context, server fcall.Caller) error // makes the same call by the client
}

var onePlace = guard.PackLimit(guard.Limit{Name: "a", Kind: guard.LimitKindConcurrency, Limit: 5, Window: 10 * time.Second})

// wireCalls is a legal call of every function of every library; a function without a row fails a test.
var wireCalls = []wireCall{
	onWire(ratelimit.New, (*ratelimit.Client).SlidingLog, logParams{Subject: "u1", Limit: 5, Window: time.Second, Receipt: "r1", Dedup: 2 * time.Second, Cost: cost(1)}),
	onWire(ratelimit.New, (*ratelimit.Client).SlidingCounter, counterParams{Subject: "u1", Limit: 1_000_000, Window: time.Second, Cost: cost(2), AtMost: true}),
	onWire(ratelimit.New, (*ratelimit.Client).FixedWindow, windowParams{Subject: "u1", Limit: 1_000_000, Window: time.Second, Cost: cost(2), AtMost: true}),
	onWire(ratelimit.New, (*ratelimit.Client).Quota, quotaParams("u1")),
	onWire(ratelimit.New, (*ratelimit.Client).GCRA, gcraParams{Subject: "u1", Limit: 7, Period: time.Minute, Burst: 10, Name: "a", Cost: cost(2), AtMost: true}),
	onWire(ratelimit.New, (*ratelimit.Client).Check, checkParams{Subject: "u1", Limits: suites.CheckLimits(5), Weight: 2, Receipt: "r1", Dedup: 2 * time.Second, Look: true}.Packed()),
	onWire(ratelimit.New, (*ratelimit.Client).Refund, ratelimit.RefundParams{
		Subject: "u1", Limits: ratelimit.PackLimit(suites.CheckLimits(5)[:1]...), Weight: 2, Receipt: "r1", At: luatest.Start, Age: time.Second, Taken: ratelimit.PackRefundTaken(ratelimit.RefundTaken{Left: time.Second}),
	}),
	onWire(ratelimit.New, (*ratelimit.Client).Reset, checkParams{Subject: "u1", Limits: suites.CheckLimits(5)}.Reset()),

	onWire(budget.New, (*budget.Client).Reserve, budget.ReserveParams{Subject: "u1", Receipt: "r1", Estimate: 5, Budgets: budget.PackBudget(budget.Budget{Budget: 1000, Window: 10 * time.Minute}, budget.Budget{Budget: 5000, Window: time.Hour}), Hold: time.Minute, AtMost: true, Units: budget.PackUnitAmount(budget.UnitAmount{Unit: "tokens", Amount: 1})}),
	onWire(budget.New, (*budget.Client).Settle, budget.SettleParams{Units: budget.PackUnitAmount(budget.UnitAmount{Unit: "tokens", Amount: 1}), Subject: "u1", Receipt: "r1", Actual: 5, Penalty: time.Second, Budgets: budget.PackBudget(budget.Budget{Budget: 1000, Window: time.Minute})}),
	onWire(budget.New, (*budget.Client).Peek, budget.PeekParams{Units: budget.PackUnitAmount(budget.UnitAmount{Unit: "tokens", Amount: 1}), Subject: "u1", Budgets: budget.PackBudget(budget.Budget{Budget: 1000, Window: time.Minute}), Receipt: "r1"}),
	onWire(budget.New, (*budget.Client).Reset, budget.ResetParams{Subject: "u1", Budgets: budget.PackBudget(budget.Budget{Budget: 1000, Window: time.Minute})}),

	onWire(abuse.New, (*abuse.Client).Attempt, attemptParams{
		Subject: "u1", Tiers: abuse.PackAttemptTiers(attemptTier{Threshold: 2, Window: time.Second, Block: time.Minute}, attemptTier{Threshold: 5, Window: time.Minute, Block: time.Hour}),
		Escalation: abuse.PackAttemptEscalation(abuse.AttemptEscalation{Block: time.Minute}, abuse.AttemptEscalation{Block: time.Hour}), StrikeMemory: day,
	}),
	onWire(abuse.New, (*abuse.Client).Status, abuse.StatusParams{Subject: "u1", Tiers: abuse.PackStatusTiers(abuse.StatusTiers{Threshold: 2, Window: time.Second}, abuse.StatusTiers{Threshold: 9, Window: time.Minute}), StrikeMemory: day}),
	onWire(abuse.New, (*abuse.Client).Block, abuse.BlockParams{Subject: "u1", Duration: time.Minute, Reason: "why"}),
	onWire(abuse.New, (*abuse.Client).Forgive, abuse.ForgiveParams{Subject: "u1"}),
	onWire(abuse.New, (*abuse.Client).Unblock, abuse.UnblockParams{Subject: "u1", Pardon: true}),

	onWire(challenge.New, (*challenge.Client).Issue, issueParams{Subject: "u1", Token: "t1", TTL: time.Minute, Payload: "login", ReuseWithin: time.Second, MaxOutstanding: 4}),
	onWire(challenge.New, (*challenge.Client).Consume, challenge.ConsumeParams{Subject: "u1", Token: "t1", Payload: "login"}),
	onWire(challenge.New, (*challenge.Client).Peek, challenge.PeekParams{Subject: "u1", Token: "t1"}),

	onWire(concurrency.New, (*concurrency.Client).Acquire, concurrency.AcquireParams{Subject: "u1", Holder: "h1", Limit: 5, Lease: time.Minute, Weight: 3}),
	onWire(concurrency.New, (*concurrency.Client).Renew, concurrency.RenewParams{Subject: "u1", Holder: "h1", Lease: time.Hour, Fence: luatest.Start.UnixMicro()}),
	onWire(concurrency.New, (*concurrency.Client).Peek, concurrency.PeekParams{Subject: "u1"}),
	onWire(concurrency.New, (*concurrency.Client).Release, concurrency.ReleaseParams{Subject: "u1", Holder: "h1", Fence: luatest.Start.UnixMicro()}),

	onWire(override.New, (*override.Client).Set, override.SetParams{
		Subject: "u1", Target: "user=42", Effect: "add", Factor: 10, Duration: time.Hour, By: "ann", Reason: "why", Budget: "month", Unit: "tokens", Amount: 5,
	}),
	onWire(override.New, (*override.Client).Clear, override.ClearParams{Subject: "u1", Target: "user=42", Budget: "month"}),
	onWire(override.New, (*override.Client).List, override.ListParams{Subject: "u1", Known: new(int64(7))}),

	onWire(guard.New, (*guard.Client).Check, guard.CheckParams{
		Subject: "u1", Blocks: []fcall.Subject{"ip"}, Limits: guard.PackLimit(guard.Limit{Kind: guard.LimitKindGCRA, Limit: 5, Window: time.Second}), Weight: 2, Holder: "h1",
	}),
	onWire(guard.New, (*guard.Client).Admit, admitParams{
		Subject: "u1", Blocks: []fcall.Subject{"u2"}, Receipt: "r1", Dedup: 2 * time.Second, Repeats: new(int64(2)), Limits: suites.GuardLimits(5), Weight: 2, Budgets: []guard.Budget{{Budget: 1000, Window: time.Minute}},
		Estimate: 5, Hold: time.Minute, Reservation: "i1", StrikeMemory: day, CountRefused: true,
		Tiers:      []guard.AdmitTiers{{Threshold: 2, Window: time.Second, Block: time.Minute}, {Threshold: 5, Window: time.Minute, Block: time.Hour}},
		Escalation: []guard.AdmitEscalation{{Block: time.Minute}}, Challenge: "t1", ChallengeRequired: true, Payload: "login", Holder: "h1",
		Units: []guard.UnitAmount{{Unit: "tokens", Amount: 7}},
	}.Packed()),
	onWire(guard.New, (*guard.Client).Take, guard.TakeParams{Subject: "u1", Limits: guard.PackLimit(suites.GuardLimits(5)[2]), Most: 2}),
	onWire(guard.New, (*guard.Client).Renew, guard.RenewParams{Subject: "u1", Limits: onePlace, Holder: "h1"}),
	onWire(guard.New, (*guard.Client).Release, guard.ReleaseParams{Subject: "u1", Limits: onePlace, Holder: "h1", Mark: time.Minute}),
	onWire(guard.New, (*guard.Client).Refund, suites.RefundParams{
		Subject: "u1", Limits: suites.GuardLimits(5), Left: suites.TakenOf(suites.TakenAtStart()), Weight: 2, At: luatest.Start, Age: time.Second,
		Receipt: "r1", Challenge: "t1", Payload: "login",
	}.Packed()),
	onWire(guard.New, (*guard.Client).Settle, guard.SettleParams{
		Subject: "u1", Budgets: guard.PackBudget(guard.Budget{Budget: 1000, Window: time.Minute}), Reservation: "i1", Actual: 7, Penalty: time.Second,
		Units: guard.PackUnitAmount(guard.UnitAmount{Unit: "tokens", Amount: 7}),
	}),
	onWire(guard.New, (*guard.Client).Peek, guard.PeekParams{Subject: "u1"}),
}

// wireLibraries are the libraries of wireCalls, and where they are tested.
var wireLibraries = []struct {
	library *fcall.Library
	each    func(t *testing.T, test func(*testing.T, *luatest.Server))
}{
	{ratelimit.Library, serversOf(suites.Limiters)},
	{budget.Library, serversOf(suites.Budgets)},
	{abuse.Library, serversOf(suites.Abusers)},
	{challenge.Library, serversOf(suites.Challenges)},
	{concurrency.Library, serversOf(suites.Semaphores)},
	{override.Library, serversOf(suites.Overrides)},
	{guard.Library, serversOf(suites.Guards)},
}

func serversOf[C any](suite luatest.Suite[C]) func(*testing.T, func(*testing.T, *luatest.Server)) {
	suite.Engines = suites.AtEnds // the Lua that reads arguments is the same on those between
	return func(t *testing.T, test func(*testing.T, *luatest.Server)) {
		suite.Each(t, func(t *testing.T, s *luatest.Server, _ C) { test(t, s) })
	}
}

// listening takes what a client sends.
type listening struct{ words *[]any }

func (l listening) Process(_ context.Context, cmd redis.Cmder) error {
	*l.words = cmd.Args()
	return context.Canceled
}

// onWire makes a wireCall of a call by the generated client.
func onWire[C, P, R any](create func(fcall.Caller, fcall.Options) (C, error), method func(C, context.Context, P) (R, error), params P) wireCall {
	call := func(ctx context.Context, server fcall.Caller) error {
		client, err := create(server, fcall.Options{})
		if err == nil {
			_, err = method(client, ctx, params)
		}
		return err
	}
	var words []any
	if err := call(context.Background(), listening{&words}); len(words) < 3 {
		panic(fmt.Sprintf("%T: %v", params, err))
	}
	n, err := strconv.Atoi(fmt.Sprint(words[2]))
	if err != nil {
		panic(err)
	}
	w := wireCall{flag: words[0].(string), name: words[1].(string), decode: call}
	for i, word := range words[3:] {
		if i < n {
			w.keys = append(w.keys, word.(string))
		} else {
			w.args = append(w.args, fmt.Sprint(word))
		}
	}
	return w
}

// words are the call's with these keys and arguments.
func (w wireCall) words(keys, args []string) []any {
	words := []any{w.flag, w.name, len(keys)}
	for _, text := range keys {
		words = append(words, text)
	}
	for _, text := range args {
		words = append(words, text)
	}
	return words
}

// A wireSlot is one argument of a call, or one cell of a packed argument: what it is by the function's header.
type wireSlot struct {
	name  string // "limits.0.window"
	field spec.Field
	arg   int       // the word that it is, or is in
	cell  *packCell // nil where it is the word
}

// A packCell is a cell's place in a packed argument.
type packCell struct{ row, column int }

// with returns a call's arguments with another text in the slot. In a pack it is escaped if it is a text, and a row is as long as its
// header.
func (s wireSlot) with(args []string, text string) []string {
	args = slices.Clone(args)
	if s.cell == nil {
		args[s.arg] = text
		return args
	}
	if s.field.Kind == spec.KindText {
		text = escaped(text)
	}
	rows := strings.SplitAfter(args[s.arg], ";")
	cells := strings.Split(strings.TrimSuffix(rows[s.cell.row], ";"), ",")
	for len(cells) <= s.cell.column {
		cells = append(cells, "")
	}
	cells[s.cell.column] = text
	rows[s.cell.row] = strings.Join(cells, ",") + ";"
	args[s.arg] = strings.Join(rows, "")
	return args
}

// escaped is a text as a cell holds it.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.@+/=-", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// contract is every function of every library, by its name on the server.
func contract(t testing.TB) map[string]spec.Function {
	t.Helper()
	tree, found := codegen.Parse(functions.FS, functions.Root, codegen.Options{})
	if err := found.Err(); err != nil {
		t.Fatal(err)
	}
	all := map[string]spec.Function{}
	for _, lib := range tree.Libraries {
		for _, f := range lib.Spec.Functions {
			all[f.Server] = f
		}
	}
	return all
}

// A wireKey is a key of a call.
type wireKey struct {
	kind  string                   // its type; "any" goes by a row's kind
	there func(args []string) bool // whether a call with these arguments has it
}

// keysFor are the call's keys with other arguments.
func (w wireCall) keysFor(keys []wireKey, args []string) (names []string) {
	for i, k := range keys {
		if k.there(args) {
			names = append(names, w.keys[i])
		}
	}
	return names
}

// slots says what each word of a call's arguments is, each cell of those that are packed, and each key. The call gets the arguments
// at the end that it leaves out as absent.
func (w *wireCall) slots(t testing.TB, f spec.Function) (slots []wireSlot, keys []wireKey) {
	t.Helper()
	arg := 0
	given := func(args []string, name string) bool {
		return slices.ContainsFunc(slots, func(s wireSlot) bool { return s.name == name && s.arg < len(args) && args[s.arg] != "" })
	}
	rowKeys := func(p spec.Field, arg, row int, rows func(text string) int) {
		for _, k := range p.Keys() {
			keys = append(keys, wireKey{k.Redis, func(args []string) bool { return arg < len(args) && rows(args[arg]) > row }})
		}
	}
	add := func(name string, field spec.Field) {
		slots = append(slots, wireSlot{name: name, field: field, arg: arg})
		if arg++; arg > len(w.args) {
			w.args = append(slices.Clone(w.args), "")
		}
	}
	var several []wireKey // one of each in the calls
	for _, p := range f.Params {
		switch p.Kind {
		case spec.KindKey:
			if p.Several {
				several = append(several, wireKey{p.Redis, func([]string) bool { return true }})
				continue
			}
			keys = append(keys, wireKey{p.Redis, func(args []string) bool { return p.With == "" || given(args, p.With) }})
		case spec.KindGroup:
			add(p.Name, p)
			cells, _ := p.Cells()
			rows := func(text string) int { return strings.Count(text, ";") }
			for row := range rows(w.args[arg-1]) {
				rowKeys(p, arg-1, row, rows)
				for column, field := range cells {
					slots = append(slots, wireSlot{fmt.Sprintf("%s.%d.%s", p.Name, row, field.Name), field, arg - 1, &packCell{row, column}})
				}
			}
		default:
			add(p.Name, p)
		}
	}
	keys = append(keys, several...)
	keys = slices.DeleteFunc(keys, func(k wireKey) bool { return !k.there(w.args) })
	if arg != len(w.args) || len(keys) != len(w.keys) {
		t.Fatalf("%s has %d arguments and %d keys, its header %d and %d", w.name, len(w.args), len(w.keys), arg, len(keys))
	}
	return slots, keys
}

// refusal reports whether an error is the refusal of a text in the slot: exactly, but where the text is not a cell or a row.
func (s wireSlot) refusal(text string) func(string) bool {
	want := "RLARG " + s.must()
	switch {
	case s.cell != nil && (text == "" || len(text) > 10 || strings.ContainsAny(text, ",;")):
		return beginning("RLARG " + strings.TrimSuffix(s.name, "."+s.field.Name))
	case s.cell == nil && s.field.Kind == spec.KindGroup:
		return beginning("RLARG " + s.name)
	}
	return one(want)
}

// must is the sentence of the refusal.
func (s wireSlot) must() string {
	f := s.field
	switch f.Kind {
	case spec.KindGroup:
		return fmt.Sprintf("%s must have %d to %d rows", s.name, f.Min, f.Max)
	case spec.KindTime:
		return fmt.Sprintf("%s must be from %d to %d microseconds since 1970", s.name, f.Min, f.Max)
	case spec.KindCount:
		return fmt.Sprintf("%s must be a whole number from %d to %d", s.name, f.Min, f.Max)
	case spec.KindMicros:
		return fmt.Sprintf("%s must be from %d to %d micros", s.name, f.Min, f.Max)
	case spec.KindDuration:
		return fmt.Sprintf("%s must be from %d to %d microseconds", s.name, f.Min, f.Max)
	case spec.KindBool:
		return s.name + " must be 1 or 0"
	case spec.KindEnum:
		return s.name + " must be one of " + strings.Join(f.Values, ", ")
	}
	return fmt.Sprintf("%s must be %d to %d bytes", s.name, f.Min, f.Max)
}

// A new function is tried here too, or this fails.
func TestArguments_everyFunctionIsTried(t *testing.T) {
	rows := map[string]bool{}
	for _, w := range wireCalls {
		rows[w.name] = true
	}
	for name := range contract(t) {
		if !rows[name] {
			t.Errorf("%s has no call in wireCalls: add one", name)
		}
	}
	if len(rows) != len(wireCalls) || len(rows) != len(contract(t)) {
		t.Errorf("wireCalls has %d rows of %d functions, and the libraries have %d", len(wireCalls), len(rows), len(contract(t)))
	}
}

func TestMain(m *testing.M) { engines.Main(m) }

type (
	attemptParams = abuse.AttemptParams
	attemptTier   = abuse.AttemptTiers
	issueParams   = challenge.IssueParams
	checkParams   = suites.CheckParams
	windowParams  = ratelimit.FixedWindowParams
	gcraParams    = ratelimit.GCRAParams
	counterParams = ratelimit.SlidingCounterParams
	logParams     = ratelimit.SlidingLogParams
	admitParams   = suites.AdmitParams
)

const day = 24 * time.Hour

func cost(n int64) *int64 { return &n }

// quotaParams are a legal call in days that contain the tests' time.
func quotaParams(bucket fcall.Subject) ratelimit.QuotaParams {
	start := luatest.Start.Truncate(day)
	return ratelimit.QuotaParams{
		Subject: bucket, Limit: 1_000_000, Previous: start.Add(-day), Start: start, Next: start.Add(day), After: start.Add(2 * day), Cost: cost(2),
	}
}

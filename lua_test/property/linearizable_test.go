package property_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/internal/onpath"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// The size of a concurrent history: callers, calls of each caller, and moves of the clock.
const (
	callers     = 6
	callsEach   = 10
	clockMoves  = 4
	shortRounds = 25 // histories a family and engine, where RLFUNC_SOAK says nothing
)

// TestLinearizable_concurrentCallsHaveAnOrder records what concurrent callers are answered, while the clock goes on, and
// asks whether one after the other, in some order that fits when each began and ended, the model answers the same.
func TestLinearizable_concurrentCallsHaveAnOrder(t *testing.T) {
	much := soak(t)
	for _, f := range families {
		f.linearizable(t, much)
	}
}

func (f family[C, M]) linearizable(t *testing.T, much amount) {
	t.Run(f.name, func(t *testing.T) {
		f.each(t, func(t *testing.T, s *luatest.Server, client C) {
			histories, calls := 0, tally{}
			began, rounds := time.Now(), shortRounds
			if onpath.Raced() {
				rounds /= 5
			}
			for {
				for range rounds {
					seed := rand.N(1 << 30)
					ops := f.record(t, s, client, seed)
					switch porcupine.CheckOperationsTimeout(f.sequential(), ops, time.Minute) {
					case porcupine.Illegal:
						t.Fatalf("no order of these calls is what the model answers (seed %d):\n%s", seed, account(ops))
					case porcupine.Unknown:
						t.Fatalf("a minute is too short to find an order of these calls (seed %d):\n%s", seed, account(ops))
					}
					histories++
					for _, op := range ops {
						if c, ok := op.Input.(call[C, M]); ok {
							calls[c.function]++
						}
					}
				}
				// A round trip for each call: a tenth of the histories takes about as long.
				if much.time == 0 && histories >= much.histories/10 || much.time > 0 && time.Since(began) >= much.time {
					break
				}
			}
			report(t, "concurrent: %-15s %-10s %8d histories, %9d calls have an order that the model answers: %s", f.name, s.Engine, histories, calls.sum(), calls)
		})
	})
}

// sequential is the model as porcupine asks it: its state is a model, an operation a call or a move of the clock.
func (f family[C, M]) sequential() porcupine.Model {
	return porcupine.Model{
		Partition: f.bySubject,
		Init: func() any {
			m := f.model()
			m.Move(luatest.Start)
			return m
		},
		Step: func(state, input, output any) (bool, any) {
			m := state.(M).Clone()
			if to, ok := input.(time.Time); ok {
				m.Move(to)
				return true, m
			}
			want, got := input.(call[C, M]).answer(m), output.(outcome)
			if want.err != nil || got.err != nil {
				return want.err != nil && errors.Is(got.err, want.err), m
			}
			return reflect.DeepEqual(want.reply, got.reply), m
		},
		Equal: func(a, b any) bool { return reflect.DeepEqual(a, b) },
	}
}

// bySubject takes a history apart: calls of one subject do not affect another, and all subjects share the clock. An order is found
// for each, which is some thousand times quicker than one for all.
func (f family[C, M]) bySubject(ops []porcupine.Operation) (parts [][]porcupine.Operation) {
	subjects, moves := map[string][]porcupine.Operation{}, []porcupine.Operation(nil)
	for _, op := range ops {
		if c, ok := op.Input.(call[C, M]); ok {
			subjects[c.subject] = append(subjects[c.subject], op)
		} else {
			moves = append(moves, op)
		}
	}
	for _, calls := range subjects {
		parts = append(parts, slices.Concat(calls, moves))
	}
	return parts
}

// An outcome is what a caller got.
type outcome struct {
	reply any
	err   error
}

// record lets the callers loose on an empty server.
func (f family[C, M]) record(t *testing.T, s *luatest.Server, client C, seed int) []porcupine.Operation {
	t.Helper()
	ctx := t.Context()
	s.Do(t, "FLUSHDB")
	s.Set(t, luatest.Start)
	type script struct {
		calls [callers][]call[C, M]
		moves []time.Duration
	}
	drawn := rapid.Custom(func(t *rapid.T) (d script) {
		p := f.draw(t)
		for i := range d.calls {
			d.calls[i] = rapid.SliceOfN(rapid.Custom(p.call), callsEach, callsEach).Draw(t, "calls")
		}
		d.moves = rapid.SliceOfN(rapid.SampledFrom(p.spans), clockMoves, clockMoves).Draw(t, "moves")
		return d
	}).Example(seed)

	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		ops   []porcupine.Operation
		begin = make(chan struct{})
		start = time.Now()
	)
	did := func(who int, input any, run func() outcome) {
		op := porcupine.Operation{ClientId: who, Input: input, Call: int64(time.Since(start))}
		op.Output = run()
		op.Return = int64(time.Since(start))
		mu.Lock()
		defer mu.Unlock()
		ops = append(ops, op)
	}
	for who, calls := range drawn.calls {
		wg.Go(func() {
			<-begin
			for _, c := range calls {
				did(who, c, func() outcome { return f.once(ctx, s, client, c) })
			}
		})
	}
	wg.Go(func() {
		<-begin
		for _, d := range drawn.moves {
			to := reasonable(s.Now().Add((d / 2).Truncate(time.Microsecond)))
			if to.Before(s.Now()) {
				break
			}
			did(callers, to, func() outcome { s.Set(t, to); return outcome{} })
		}
	})
	close(begin)
	wg.Wait()
	return ops
}

// once makes one call in a round trip of its own.
func (f family[C, M]) once(ctx context.Context, s *luatest.Server, client C, c call[C, M]) outcome {
	pipe := s.Redis.Pipeline()
	result := c.queue(ctx, client, pipe)
	_, _ = pipe.Exec(ctx) // the call's own error is in its result
	reply, err := result()
	return outcome{reply, err}
}

func account(ops []porcupine.Operation) string {
	slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	var b strings.Builder
	for _, op := range ops {
		fmt.Fprintf(&b, "%9d-%9d ns  caller %d  %v -> %+v\n", op.Call, op.Return, op.ClientId, op.Input, op.Output)
	}
	return b.String()
}

package luatest

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/contract"
)

// Contract calls the functions of the suite's libraries as their headers allow, in sequences that it draws, and checks what they do. It
// needs no test of yours: the header says what may go in and what must come out. It finds, among others, results outside their bounds,
// errors that the header does not declare, keys without an expiry, expiries made shorter than another call was promised, refused calls
// that change something, calls that do not end or whose work grows with what is stored, and undeclared keys.
//
// A failure is the shortest sequence that shows it, printed as steps for [Suite.Run], with the line of the author's file. If it is meant
// to be so, `-- rlfunc:ignore RULE reason` on that line says why. The test logs which lines no call has reached, since these are not
// proven by anything.
//
// The same sequences are then played on the suite's real servers, whose replies, keys and expiries must mean the same as those of the embedded
// engine: JSON may have its fields in another order, a server makes the IDs of a stream itself, and rows that come of a set or a hash may be in
// any order, but an answer that depends on that order is a fault. Functions that run commands which the embedded engine does not have are
// checked there alone. The clock moves there only for libraries that read it and set their expiries through lib/clock, and never back.
//
// The calls are those of `rlfunc vet --run`, the same each time, except that ExtraLibraries are called as well; with -short they are fewer. With
// RLFUNC_SEED, a whole number, they are others.
func Contract[C any](t *testing.T, su Suite[C]) {
	t.Helper()
	seed, err := contract.Seed()
	if err != nil {
		t.Fatal(err)
	}
	o := contract.Options{Seed: seed}
	if testing.Short() {
		o.Calls, o.Most = contract.DefaultCalls/2, contract.DefaultMost/4
	}
	report, err := contract.Run(su.read(t), o)
	if err != nil {
		t.Fatal(err)
	}
	show := func(t *testing.T, found []contract.Finding) {
		t.Helper()
		for _, f := range found {
			t.Errorf("%v\nThe calls, as steps of Suite.Run (seed %d; if it is meant to be so, write `-- rlfunc:ignore %s reason` on line %d of %s):\n%s",
				f, report.Seed, f.Rule, f.Line, f.File, f.Paste())
		}
	}
	show(t, report.Findings)
	t.Log(report.Summary())
	su.Each(t, func(t *testing.T, s *Server, _ C) {
		if s.manual == nil {
			su.compare(t, s, report)
			on := *report
			on.Findings = nil
			on.On(s.Redis)
			show(t, on.Findings)
		}
	})
}

// compare plays the sequences of a report on a server and on the embedded engine.
func (su Suite[C]) compare(t *testing.T, real *Server, report *contract.Report) {
	t.Helper()
	moves := len(real.clocked) == len(real.libs)
	inside := su
	inside.Engines = func(testing.TB) []Engine { return []Engine{{Name: "embedded"}} }
	inside.Each(t, func(t *testing.T, s *Server, _ C) {
		for _, steps := range report.Sequences {
			for _, server := range []*Server{s, real} {
				server.Do(t, "FLUSHDB")
				server.Set(t, Start)
			}
			var so contract.Step // what the steps so far leave open
			for i, step := range steps {
				so.Unordered, so.IDs = so.Unordered || step.Unordered, so.IDs || step.IDs
				if step.Advance < 0 || so.IDs && step.Advance > 0 {
					break // what has expired is there again on the embedded engine only, which deletes it when it is used; IDs go by a clock that no test moves
				}
				want, got := s.play(t, step, moves).meant(so), real.play(t, step, moves).meant(so)
				if diff := cmp.Diff(want, got, cmp.Comparer(alike)); diff != "" {
					t.Errorf("%s answers otherwise than the embedded engine, or holds other keys (-embedded +%s), seed %d:\n%s\nafter:\n%s",
						real.Engine, real.Engine, report.Seed, diff, contract.Finding{Steps: steps[:i+1]}.Paste())
					return
				}
			}
		}
	})
}

// alike compares texts. The last digit of a fraction may differ: Go's mathematics is not the C library's.
func alike(a, b string) bool {
	if a == b || !strings.ContainsAny(a, ".e") || !strings.ContainsAny(b, ".e") {
		return a == b
	}
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && math.Abs(x-y) <= 1e-13*math.Abs(x)
}

// An outcome is what a step answers, and what the server then holds.
type outcome struct {
	Reply any
	Error string
	Keys  map[string]Key
}

// play plays one step. Where the clock does not move, expiries only are or are not there.
func (s *Server) play(t *testing.T, step contract.Step, moves bool) (o outcome) {
	t.Helper()
	if moves && step.Advance != 0 {
		s.Advance(t, time.Duration(step.Advance)*time.Microsecond)
	}
	for _, words := range step.Foreign {
		if words[0] == "PEXPIRE" {
			ms, _ := strconv.ParseInt(words[2], 10, 64) // the drawer has written it
			s.Expire(t, words[1], time.Duration(ms)*time.Millisecond)
			continue
		}
		s.Do(t, anys(words)...)
	}
	reply, err := s.Redis.Do(t.Context(), anys(step.Words())...).Result()
	var answered redis.Error
	switch o.Reply = step.Results(reply); {
	case errors.As(err, &answered):
		o.Error, _, _ = strings.Cut(err.Error(), " script: ")
	case err != nil:
		t.Fatalf("%s: call %s: %v", s.Engine, step.Words()[1], err)
	}
	o.Keys, err = s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !moves {
		for name, k := range o.Keys {
			k.TTL = max(k.TTL, Immortal)
			if k.TTL > 0 {
				k.TTL = 1
			}
			o.Keys[name] = k
		}
	}
	return o
}

func anys(words []string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		out[i] = w
	}
	return out
}

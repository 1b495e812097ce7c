package property_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// A history is calls and moves of the clock, and what the model answered.
type history[C, M any] struct {
	events []event[C, M]
	// left is every key at the end, by subject, with the millisecond in which it expires.
	left map[string]map[string]int64
}

// An event is a call at a time.
type event[C, M any] struct {
	now  time.Time
	call call[C, M]
	want answer
	ends map[string]int64 // the subject's keys after it
	note string
}

// A drawn step is a move of the clock, from a time and what the last answer said, and a call.
type drawn[C, M any] struct {
	move func(now time.Time, last answer) time.Time
	call call[C, M]
}

// GoString keeps rapid's account short: the history itself is in the failure.
func (d drawn[C, M]) GoString() string { return d.call.String() }

// history draws a history and asks the model. At its end each subject's last refusal is probed: one tick before retry_after
// the same call is refused, at retry_after it passes.
func (f family[C, M]) history(t *rapid.T) history[C, M] {
	p := f.draw(t)
	moves := moves(p.spans)
	step := rapid.Custom(func(t *rapid.T) drawn[C, M] {
		return drawn[C, M]{moves.Draw(t, "move"), p.call(t)}
	})
	// Lists of lists: rapid makes one list about six long, and takes a long one apart badly.
	steps := slices.Concat(rapid.SliceOfN(rapid.SliceOfN(step, 1, 20), 1, 20).Draw(t, "steps")...)

	m, h := f.model(), history[C, M]{left: map[string]map[string]int64{}}
	last := map[string]event[C, M]{}
	do := func(now time.Time, c call[C, M], note string) answer {
		m.Move(now)
		e := event[C, M]{now: now, call: c, want: c.answer(m), ends: m.Expiries(c.subject), note: note}
		h.events = append(h.events, e)
		h.left[c.subject] = nil
		last[c.subject] = e
		return e.want
	}
	now := luatest.Start
	var previous answer
	for _, s := range steps {
		now = s.move(now, previous)
		previous = do(now, s.call, "")
	}

	var refused []event[C, M]
	for _, e := range last {
		// Asked again, as the clock has moved since.
		if e.want = e.call.answer(m.Clone()); e.want.refused {
			if e.now = now.Add(e.want.retry); e.now.Equal(reasonable(e.now)) {
				refused = append(refused, e)
			}
		}
	}
	slices.SortFunc(refused, func(a, b event[C, M]) int {
		if c := a.now.Compare(b.now); c != 0 {
			return c
		}
		return strings.Compare(a.call.subject, b.call.subject)
	})
	for _, e := range refused {
		if sooner := e.now.Add(-e.want.tick); !sooner.Before(now) {
			now = sooner
			m.Move(now)
			// A key is kept for as long as the call needs it that wrote it. Where another call asks for more, it is gone sooner,
			// and the wait is at most retry_after.
			gone := !p.steady && !maps.Equal(e.ends, m.Expiries(e.call.subject))
			a := do(now, e.call, "one tick before retry_after")
			switch passed := a.passes(a.reply); {
			case passed && gone:
				continue
			case passed:
				t.Fatalf("the model's retry_after is too long:\n%s", h)
			}
		}
		now = e.now
		if a := do(now, e.call, "at retry_after"); !a.passes(a.reply) {
			t.Fatalf("the model's retry_after is too short:\n%s", h)
		}
	}
	for subject := range h.left {
		h.left[subject] = m.Expiries(subject)
	}
	return h
}

func (h history[C, M]) String() string { return h.upTo(len(h.events)) }

// upTo prints the first events with what the model answers.
func (h history[C, M]) upTo(n int) string {
	var b strings.Builder
	before := luatest.Start
	for i, e := range h.events[:n] {
		fmt.Fprintf(&b, "%3d  %-12s %s\n       -> ", i+1, e.now.Sub(before), e.call)
		before = e.now
		if e.want.err != nil {
			fmt.Fprintf(&b, "error: %v", e.want.err)
		} else {
			fmt.Fprintf(&b, "%+v", e.want.reply)
		}
		fmt.Fprintf(&b, "  expiries %v", e.ends)
		if e.note != "" {
			fmt.Fprintf(&b, "  (%s)", e.note)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

const century = 100 * 365 * day

// moves draws a move of the clock: none, a little, about as long as a window, far, back, and to just where the last answer
// says that something happens.
func moves(spans []time.Duration) *rapid.Generator[func(time.Time, answer) time.Time] {
	by := func(d time.Duration) func(time.Time, answer) time.Time {
		return func(now time.Time, _ answer) time.Time { return reasonable(now.Add(d)) }
	}
	span := func(of func(time.Duration) time.Duration) *rapid.Generator[func(time.Time, answer) time.Time] {
		return rapid.Map(rapid.SampledFrom(spans), func(d time.Duration) func(time.Time, answer) time.Time {
			return by(of(d).Truncate(time.Microsecond))
		})
	}
	toRetry := func(less bool) func(time.Time, answer) time.Time {
		return func(now time.Time, last answer) time.Time {
			if less {
				return reasonable(now.Add(max(last.retry-last.tick, 0)))
			}
			return reasonable(now.Add(last.retry))
		}
	}
	small := []time.Duration{time.Microsecond, 2 * time.Microsecond, 99 * time.Microsecond, 999 * time.Microsecond, time.Millisecond, 1001 * time.Microsecond, 17 * time.Millisecond, time.Second}
	stand := rapid.Just(by(0))
	return rapid.OneOf(
		stand, stand, stand, stand, stand, stand,
		rapid.Map(rapid.SampledFrom(small), by),
		rapid.Map(rapid.SampledFrom(small), func(d time.Duration) func(time.Time, answer) time.Time { return by(-d) }),
		rapid.Map(rapid.Bool(), toRetry),
		rapid.Map(rapid.Bool(), toRetry),
		span(func(d time.Duration) time.Duration { return d / 7 }),
		span(func(d time.Duration) time.Duration { return d / 2 }),
		span(func(d time.Duration) time.Duration { return d - time.Microsecond }),
		span(func(d time.Duration) time.Duration { return d }),
		span(func(d time.Duration) time.Duration { return d + time.Microsecond }),
		span(func(d time.Duration) time.Duration { return 2*d + 12_345*time.Microsecond }),
		span(func(d time.Duration) time.Duration { return -d / 3 }),
		span(func(d time.Duration) time.Duration { return -d }),
		span(func(d time.Duration) time.Duration { return -d - time.Microsecond }),
		rapid.Map(rapid.SampledFrom([]time.Duration{day, 1000 * day, -day, -1000 * day}), by),
		rapid.Map(rapid.SampledFrom([]time.Time{time.UnixMicro(1_000_001), luatest.Start, luatest.Start.Add(century)}), func(at time.Time) func(time.Time, answer) time.Time {
			return func(time.Time, answer) time.Time { return at }
		}),
	)
}

// reasonable keeps the clock where an expiry is still a number that servers take.
func reasonable(at time.Time) time.Time {
	if at.Before(time.UnixMicro(1_000_001)) || at.After(luatest.Start.Add(century+10*365*day)) {
		return luatest.Start
	}
	return at
}

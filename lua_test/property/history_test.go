package property_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/agreed"
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
		if m, ok := any(m).(interface{ Inexact() bool }); ok && m.Inexact() {
			break
		}
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

// A player plays histories on one server. A real server gets a whole history in one pipeline: its clock is moved by a
// call. The clock of the embedded engine is moved between pipelines.
type player[C any, M reference[M]] struct {
	family family[C, M]
	server *luatest.Server
	client C
	pipe   redis.Pipeliner
	checks []func() (problem string)
}

// play plays a history on an empty server and says where it differs from what the model answered.
func (p *player[C, M]) play(t testing.TB, h history[C, M]) (problem string) {
	t.Helper()
	ctx := t.Context()
	p.pipe, p.checks = p.server.Redis.Pipeline(), nil
	p.pipe.FlushDB(ctx)
	holds := func(time.Time, string, any, any) string { return "" }
	if p.family.invariant != nil {
		holds = p.family.invariant()
	}
	now := luatest.Start.Add(-1) // moved before the first event in any case
	for i, e := range h.events {
		if !e.now.Equal(now) {
			now = e.now
			if problem := p.move(t, e, slices.Collect(maps.Keys(h.left))); problem != "" {
				return problem
			}
		}
		p.event(ctx, h, i, holds)
	}
	p.leftovers(ctx, h)
	return p.flush(ctx)
}

func (p *player[C, M]) move(t testing.TB, e event[C, M], subjects []string) (problem string) {
	t.Helper()
	if p.queueClock(t.Context(), p.pipe, e.now) {
		return ""
	}
	if problem := p.flush(t.Context()); problem != "" {
		return problem
	}
	p.server.Set(t, e.now)
	// A key that has expired is deleted when it is read, as it would be later: also if the clock is set back.
	for _, subject := range subjects {
		for _, k := range p.family.keys {
			p.pipe.Exists(t.Context(), p.key(subject, k))
		}
	}
	return ""
}

// event queues a call, and reads of the subject's keys: their expiries after it, and where the call may change nothing,
// every byte before and after.
func (p *player[C, M]) event(ctx context.Context, h history[C, M], i int, holds func(time.Time, string, any, any) string) {
	e := h.events[i]
	var before []look
	if !e.want.changed || e.want.touches != nil {
		before = p.look(ctx, e.call.subject)
	}
	result := e.call.queue(ctx, p.client, p.pipe)
	after := p.look(ctx, e.call.subject)

	wrong := func(format string, args ...any) string {
		return fmt.Sprintf("call %d, %s: %s\nhistory, with the model's answers:\n%s", i+1, e.call, fmt.Sprintf(format, args...), h.upTo(i+1))
	}
	p.checks = append(p.checks, func() string {
		reply, err := result()
		switch {
		case e.want.err != nil && !errors.Is(err, e.want.err):
			return wrong("error is %v, want %v", err, e.want.err)
		case e.want.err == nil && err != nil:
			return wrong("%v", err)
		case e.want.err == nil && !reflect.DeepEqual(e.want.reply, reply):
			return wrong("reply (-model +server):\n%s", cmp.Diff(e.want.reply, reply))
		}
		if problem := holds(e.now, e.call.subject, e.call.params, reply); problem != "" {
			return wrong("%s", problem)
		}
		if before != nil {
			if b, a := show(p.spared(e.want, before)), show(p.spared(e.want, after)); !slices.Equal(b, a) {
				return wrong("a call that may change nothing changed a key (-before +after):\n%s", cmp.Diff(b, a))
			}
		}
		got, err := p.ends(after)
		if err != nil {
			return wrong("%v", err)
		}
		if !maps.Equal(e.ends, got) {
			return wrong("expiries in unix ms (-model +server):\n%s", cmp.Diff(e.ends, got))
		}
		return ""
	})
}

// leftovers queues a read of all keys: the server has those of the model and no other, and each expires.
func (p *player[C, M]) leftovers(ctx context.Context, h history[C, M]) {
	names := p.pipe.Keys(ctx, "*")
	want, ends := map[string]int64{}, map[string]*redis.Cmd{}
	for subject, keys := range h.left {
		for suffix, end := range keys {
			name := fcall.Key(agreed.Namespace, fcall.Subject(subject), suffix)
			want[name] = end
			ends[name] = p.pipe.Do(ctx, "PEXPIRETIME", name)
		}
	}
	p.checks = append(p.checks, func() string {
		got := map[string]int64{}
		for _, name := range names.Val() {
			got[name] = -1
			if cmd := ends[name]; cmd != nil {
				end, err := cmd.Int64()
				if err != nil {
					return err.Error()
				}
				got[name] = p.endMS(end)
			}
		}
		if !maps.Equal(want, got) {
			return fmt.Sprintf("keys at the end, expiries in unix ms (-model +server):\n%s\nhistory, with the model's answers:\n%s", cmp.Diff(want, got), h)
		}
		return ""
	})
}

func (p *player[C, M]) flush(ctx context.Context) (problem string) {
	// A refused argument and an absent key are errors of their own commands.
	_, err := p.pipe.Exec(ctx)
	var refused redis.Error
	if err != nil && !errors.As(err, &refused) && !errors.Is(err, fcall.ErrArgument) {
		return err.Error()
	}
	for _, check := range p.checks {
		if problem := check(); problem != "" {
			return problem
		}
	}
	p.checks = p.checks[:0]
	return ""
}

func (p *player[C, M]) key(subject string, k storedKey) string {
	return fcall.Key(agreed.Namespace, fcall.Subject(subject), k.suffix)
}

// A look is what was read of one key: its content, and when it expires.
type look struct {
	content []*redis.Cmd
	end     *redis.Cmd
}

// look queues a read of each key of a subject.
func (p *player[C, M]) look(ctx context.Context, subject string) (looks []look) {
	for _, k := range p.family.keys {
		name := p.key(subject, k)
		text, tree := []any{"GET", name}, []any{"ZRANGE", name, 0, -1, "WITHSCORES"}
		reads := map[string][][]any{
			"string": {text}, "zset": {tree}, "any": {text, tree}, // of any, one of the two is refused
			"list": {{"LRANGE", name, 0, -1}}, "hash": {{"HGETALL", name}}, "set": {{"SMEMBERS", name}},
		}[k.kind]
		l := look{}
		for _, read := range reads {
			l.content = append(l.content, p.pipe.Do(ctx, read...))
		}
		l.end = p.pipe.Do(ctx, "PEXPIRETIME", name)
		looks = append(looks, l)
	}
	return looks
}

// spared are the reads of keys that may not change.
func (p *player[C, M]) spared(want answer, looks []look) (spared []*redis.Cmd) {
	for i, k := range p.family.keys {
		if !want.changed || !want.touches(k.suffix) {
			spared = append(append(spared, looks[i].content...), looks[i].end)
		}
	}
	return spared
}

func show(cmds []*redis.Cmd) (texts []string) {
	for _, cmd := range cmds {
		texts = append(texts, fmt.Sprintf("%v %v %v", cmd.Args(), cmd.Val(), cmd.Err()))
	}
	return texts
}

// ends are the expiries of the keys that are there, by suffix. A key without one is -1.
func (p *player[C, M]) ends(looks []look) (map[string]int64, error) {
	all := map[string]int64{}
	for i, k := range p.family.keys {
		end, err := looks[i].end.Int64()
		if err != nil {
			return nil, err
		}
		if end != -2 {
			all[k.suffix] = p.endMS(end)
		}
	}
	return all, nil
}

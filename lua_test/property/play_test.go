package property_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

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
	var before []*redis.Cmd
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
			name := fcall.Key(p.family.suite.Library.Name, fcall.Subject(subject), suffix)
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
	return fcall.Key(p.family.suite.Library.Name, fcall.Subject(subject), k.suffix)
}

// look queues a read of each key of a subject: its value and when it expires.
func (p *player[C, M]) look(ctx context.Context, subject string) []*redis.Cmd {
	var cmds []*redis.Cmd
	for _, k := range p.family.keys {
		name := p.key(subject, k)
		read := map[string][]any{
			"string": {"GET", name},
			"list":   {"LRANGE", name, 0, -1},
			"hash":   {"HGETALL", name},
			"set":    {"SMEMBERS", name},
			"zset":   {"ZRANGE", name, 0, -1, "WITHSCORES"},
			"any":    {"EVAL", "return redis.call('MGET', KEYS[1])[1] or redis.call('ZRANGE', KEYS[1], 0, -1)", 1, name},
		}[k.kind]
		cmds = append(cmds, p.pipe.Do(ctx, read...), p.pipe.Do(ctx, "PEXPIRETIME", name))
	}
	return cmds
}

// spared are the reads of keys that may not change.
func (p *player[C, M]) spared(want answer, looks []*redis.Cmd) (spared []*redis.Cmd) {
	for i, k := range p.family.keys {
		if !want.changed || !want.touches(k.suffix) {
			spared = append(spared, looks[2*i], looks[2*i+1])
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
func (p *player[C, M]) ends(looks []*redis.Cmd) (map[string]int64, error) {
	all := map[string]int64{}
	for i, k := range p.family.keys {
		end, err := looks[2*i+1].Int64()
		if err != nil {
			return nil, err
		}
		if end != -2 {
			all[k.suffix] = p.endMS(end)
		}
	}
	return all, nil
}

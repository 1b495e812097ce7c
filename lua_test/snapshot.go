package luatest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Immortal is the TTL of a key without an expiry.
const Immortal time.Duration = -1

// A Key is what a server holds under one name.
type Key struct {
	Type  string   // as TYPE says
	Value []string // the string, the elements, field=value, member=score, or a stream's entries and, on real servers, groups and deliveries
	TTL   time.Duration
}

// Snapshot reads every key, by name, in three round trips.
func (s *Server) Snapshot(ctx context.Context) (map[string]Key, error) {
	names, err := s.Redis.Keys(ctx, "*").Result()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	all := make(map[string]Key, len(names))
	if len(names) == 0 {
		return all, nil
	}
	types, ends := make([]*redis.StatusCmd, len(names)), make([]*redis.Cmd, len(names))
	pipe := s.Redis.Pipeline()
	for i, name := range names {
		types[i], ends[i] = pipe.Type(ctx, name), s.queueTTL(ctx, pipe, name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	values := make([]func() ([]string, error), len(names))
	for i, name := range names {
		values[i] = s.queueValue(ctx, pipe, types[i].Val(), name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	for i, name := range names {
		k := Key{Type: types[i].Val()}
		if k.Value, err = values[i](); err == nil {
			k.TTL, err = s.ttl(ends[i])
		}
		if err != nil {
			return nil, fmt.Errorf("snapshot of %q: %w", name, err)
		}
		all[name] = k
	}
	return all, nil
}

func (s *Server) queueValue(ctx context.Context, pipe redis.Pipeliner, kind, name string) func() ([]string, error) {
	sorted := func(values []string, err error) ([]string, error) {
		slices.Sort(values)
		return values, err
	}
	switch kind {
	case "string":
		cmd := pipe.Get(ctx, name)
		return func() ([]string, error) { return []string{cmd.Val()}, cmd.Err() }
	case "list":
		return pipe.LRange(ctx, name, 0, -1).Result
	case "set":
		cmd := pipe.SMembers(ctx, name)
		return func() ([]string, error) { return sorted(cmd.Result()) }
	case "hash":
		cmd := pipe.HGetAll(ctx, name)
		return func() ([]string, error) {
			var values []string
			for f, v := range cmd.Val() {
				values = append(values, f+"="+v)
			}
			return sorted(values, cmd.Err())
		}
	case "zset":
		cmd := pipe.ZRangeWithScores(ctx, name, 0, -1)
		return func() ([]string, error) {
			var values []string
			for _, m := range cmd.Val() {
				values = append(values, fmt.Sprintf("%v=%s", m.Member, strconv.FormatFloat(m.Score, 'f', -1, 64)))
			}
			return values, cmd.Err()
		}
	case "stream":
		if !s.real { // the embedded engine has neither groups nor XINFO
			cmd := pipe.Do(ctx, "XRANGE", name, "-", "+")
			return func() ([]string, error) {
				reply, err := cmd.Result()
				return entries(reply), err
			}
		}
		cmd := pipe.Do(ctx, "XINFO", "STREAM", name, "FULL", "COUNT", 0)
		return func() ([]string, error) { return streamValue(cmd.Result()) }
	}
	cmd := pipe.Dump(ctx, name)
	return func() ([]string, error) { return []string{cmd.Val()}, cmd.Err() }
}

// entries has a line for each entry of a stream.
func entries(reply any) (lines []string) {
	for _, e := range list(reply) {
		lines = append(lines, fmt.Sprintf("%s %q", list(e)...))
	}
	return lines
}

// streamValue is what XINFO tells of a stream and XRANGE or its groups show. It leaves out counters and the radix tree, by which servers differ, and
// when a consumer was last seen, which also a call that finds nothing changes. Of the rest only the times of deliveries, by the server's clock, differ
// between servers. A DUMP holds all of this, but nobody can read a difference of two.
func streamValue(reply any, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	stream := fields(reply)
	lines := entries(stream["entries"])
	add := func(format string, values ...any) { lines = append(lines, fmt.Sprintf(format, values...)) }
	for _, g := range list(stream["groups"]) {
		group := fields(g)
		name := group["name"]
		add("group %q: last-delivered-id=%v, entries-read=%v", name, group["last-delivered-id"], group["entries-read"])
		for _, c := range list(group["consumers"]) {
			add("group %q: consumer %q", name, fields(c)["name"])
		}
		for _, d := range list(group["pending"]) {
			add("group %q: %s is pending for %q since %d, deliveries: %d", append([]any{name}, list(d)...)...)
		}
	}
	return lines, nil
}

func list(reply any) []any {
	elements, _ := reply.([]any)
	return elements
}

// fields is a map, which RESP2 has as names and values in turn.
func fields(reply any) map[any]any {
	if m, ok := reply.(map[any]any); ok {
		return m
	}
	m := map[any]any{}
	for pair := range slices.Chunk(list(reply), 2) {
		if len(pair) == 2 {
			m[pair[0]] = pair[1]
		}
	}
	return m
}

func (s *Server) queueTTL(ctx context.Context, pipe redis.Pipeliner, name string) *redis.Cmd {
	if s.late == 0 {
		return pipe.Do(ctx, "PTTL", name)
	}
	return pipe.Do(ctx, "PEXPIRETIME", name)
}

// ttl is what a key has left by the test's clock.
func (s *Server) ttl(end *redis.Cmd) (time.Duration, error) {
	ms, err := end.Int64()
	if err != nil || ms < 0 {
		return Immortal, err
	}
	if s.late > 0 {
		ms -= s.late.Milliseconds() + s.now.UnixMilli()
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// CheckTTLs runs do and then holds what every key has left against what it was given: at most that, and at least that
// less the time that do and the look took.
func (s *Server) CheckTTLs(t testing.TB, want map[string]time.Duration, do func()) {
	t.Helper()
	began := time.Now()
	do()
	got := map[string]time.Duration{}
	keys, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Both ends are rounded to a millisecond.
	slack := time.Since(began) + 2*time.Millisecond
	for name, k := range keys {
		got[name] = k.TTL
	}
	for name, ttl := range want {
		if got[name] > ttl || got[name] < ttl-slack {
			t.Errorf("%s: %s has %s left, want %s less at most %s", s.Engine, name, got[name], ttl, slack)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("%s: keys that were not expected: %v", s.Engine, got)
	}
}

package luatest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Immortal is the TTL of a key without an expiry.
const Immortal time.Duration = -1

// A Key is what a server holds under one name.
type Key struct {
	Type  string   // as TYPE says
	Value []string // the string, the elements, or field=value and member=score
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
		values[i] = queueValue(ctx, pipe, types[i].Val(), name)
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

func queueValue(ctx context.Context, pipe redis.Pipeliner, kind, name string) func() ([]string, error) {
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
	}
	cmd := pipe.Dump(ctx, name)
	return func() ([]string, error) { return []string{cmd.Val()}, cmd.Err() }
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

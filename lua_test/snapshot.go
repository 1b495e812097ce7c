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

// Snapshot reads every key, by name.
func (s *Server) Snapshot(ctx context.Context) (map[string]Key, error) {
	names, err := s.Redis.Keys(ctx, "*").Result()
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w", err)
	}
	all := make(map[string]Key, len(names))
	for _, name := range names {
		k, err := s.key(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("snapshot of %q: %w", name, err)
		}
		all[name] = k
	}
	return all, nil
}

func (s *Server) key(ctx context.Context, name string) (k Key, err error) {
	if k.Type, err = s.Redis.Type(ctx, name).Result(); err != nil {
		return k, err
	}
	switch k.Type {
	case "string":
		text, err := s.Redis.Get(ctx, name).Result()
		if err != nil {
			return k, err
		}
		k.Value = []string{text}
	case "list":
		k.Value, err = s.Redis.LRange(ctx, name, 0, -1).Result()
	case "set":
		k.Value, err = s.Redis.SMembers(ctx, name).Result()
		slices.Sort(k.Value)
	case "hash":
		var fields map[string]string
		fields, err = s.Redis.HGetAll(ctx, name).Result()
		for f, v := range fields {
			k.Value = append(k.Value, f+"="+v)
		}
		slices.Sort(k.Value)
	case "zset":
		var members []redis.Z
		members, err = s.Redis.ZRangeWithScores(ctx, name, 0, -1).Result()
		for _, m := range members {
			k.Value = append(k.Value, fmt.Sprintf("%v=%s", m.Member, strconv.FormatFloat(m.Score, 'f', -1, 64)))
		}
	default:
		var dump string
		dump, err = s.Redis.Dump(ctx, name).Result()
		k.Value = []string{dump}
	}
	if err != nil {
		return k, err
	}
	k.TTL, err = s.ttl(ctx, name)
	return k, err
}

// ttl is what a key has left by the test's clock.
func (s *Server) ttl(ctx context.Context, name string) (time.Duration, error) {
	if s.late == 0 {
		ms, err := s.Redis.Do(ctx, "PTTL", name).Int64()
		if err != nil || ms < 0 {
			return Immortal, err
		}
		return time.Duration(ms) * time.Millisecond, nil
	}
	at, err := s.Redis.Do(ctx, "PEXPIRETIME", name).Int64()
	if err != nil || at < 0 {
		return Immortal, err
	}
	return time.Duration(at-s.late.Milliseconds()-s.now.UnixMilli()) * time.Millisecond, nil
}

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// memoryRows fills one sliding_log to its limit by calls. It compares the bytes per entry with those of a sorted set that has the same
// times as scores, and members that distinguish equal times.
func memoryRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	limits := []int{10, 1000, 100_000}
	if s.quick {
		limits = limits[:2]
	}
	p, err := dial(srv.network, srv.addr)
	if err != nil {
		return nil, err
	}
	defer p.conn.Close()
	var rows []Row
	for _, limit := range limits {
		if err := srv.client.FlushDB(ctx).Err(); err != nil {
			return nil, fmt.Errorf("empty the database: %w", err)
		}
		call := slidingLog(ratelimit.SlidingLogParams{Limit: int64(limit), Window: 24 * time.Hour})(subject(0))
		calls := make([][]byte, limit)
		for i := range calls {
			calls[i] = encode(call...)
		}
		if err := p.send(calls, admitted, call[1]); err != nil {
			return nil, err
		}
		log := fcall.Key(ratelimit.Library.Name, subject(0), "log")
		times, err := srv.client.LRange(ctx, log, 0, -1).Result()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", log, err)
		}
		set := make([][]byte, len(times))
		for i, us := range times {
			set[i] = encode("ZADD", "set", us, fmt.Sprintf("%s-%d", us, i))
		}
		if err := p.send(set, ":1\r\n", nil); err != nil {
			return nil, err
		}
		inLog, err := bytesPer(ctx, srv.client, log, limit)
		if err != nil {
			return nil, err
		}
		inSet, err := bytesPer(ctx, srv.client, "set", limit)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{
			Part: "memory", Name: fmt.Sprintf("sliding_log, %d entries", limit), Value: exactly(inLog), Unit: "bytes/entry",
			Beside: fmt.Sprintf("a sorted set: %.1f", inSet),
		})
	}
	return rows, srv.client.FlushDB(ctx).Err()
}

// bytesPer returns the bytes per entry of a whole key with its name, without sampling.
func bytesPer(ctx context.Context, c *redis.Client, key string, entries int) (float64, error) {
	n, err := c.MemoryUsage(ctx, key, 0).Result()
	if err != nil {
		return 0, fmt.Errorf("ask for the memory of %s: %w", key, err)
	}
	return float64(n) / float64(entries), nil
}

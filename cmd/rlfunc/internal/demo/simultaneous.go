package demo

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

const (
	limit  = 10
	window = time.Minute
)

// simultaneously runs n calls at the same time, each on its own connection. All connections are open before the first call. It returns
// the answers in order of arrival.
func (r *run) simultaneously(ctx context.Context, n int, call func(ctx context.Context, conn *redis.Conn, i int) (bool, error)) ([]bool, error) {
	var (
		mu       sync.Mutex
		answers  []bool
		firstErr error
		ready    sync.WaitGroup
		done     sync.WaitGroup
		start    = make(chan struct{})
	)
	note := func(passed bool, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			answers = append(answers, passed)
		} else if firstErr == nil {
			firstErr = err
		}
	}
	single, _ := r.client.(*redis.Client)
	for i := range n {
		ready.Add(1)
		done.Go(func() {
			var conn *redis.Conn
			var err error
			if single != nil {
				conn = single.Conn()
				defer conn.Close()
				err = conn.Ping(ctx).Err()
			}
			ready.Done()
			<-start
			passed := false
			if err == nil {
				passed, err = call(ctx, conn, i)
			}
			note(passed, err)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	return answers, firstErr
}

// slidingLog calls the limiter on conn, or on the shared client if conn is nil.
func (r *run) slidingLog(ctx context.Context, conn *redis.Conn, p ratelimit.SlidingLogParams) (ratelimit.SlidingLogResult, error) {
	if conn == nil {
		return r.limits.SlidingLog(ctx, p)
	}
	client, err := ratelimit.New(conn, fcall.Options{Namespace: r.ns})
	if err != nil {
		return ratelimit.SlidingLogResult{}, err
	}
	return client.SlidingLog(ctx, p)
}

func (r *run) fiftyAtOnce(ctx context.Context, s *scene) error {
	p := ratelimit.SlidingLogParams{Subject: r.subject("fifty"), Limit: limit, Window: window}
	answers, err := r.simultaneously(ctx, atOnce, func(ctx context.Context, conn *redis.Conn, _ int) (bool, error) {
		a, err := r.slidingLog(ctx, conn, p)
		return a.Allowed, err
	})
	if err != nil {
		return err
	}
	got := s.row("one FCALL", answers, "")
	s.must(got.Passed == limit && got.Refused == atOnce-limit, "%d of %d passed; want %d", got.Passed, atOnce, limit)

	most, rounds, err := r.race(ctx, s)
	if err != nil {
		return err
	}
	if most > limit {
		s.found("exactly %d passed; the four commands let %d through, %d too many", limit, most, most-limit)
	} else {
		s.found("exactly %d passed; the four commands did not race in %d rounds this time", limit, rounds)
	}
	return nil
}

// maxRounds is the most attempts to provoke the race. In one round, the commands may happen not to interleave.
const maxRounds = 5

// race sends the same requests as four separate commands, as many services do. It returns the most requests that passed in a round.
func (r *run) race(ctx context.Context, s *scene) (most, rounds int, err error) {
	for most <= limit && rounds < maxRounds {
		rounds++
		key := fcall.Key(r.ns, fcall.Subject("racy-"+strconv.Itoa(rounds)), "log")
		r.keys = append(r.keys, key)
		answers, err := r.simultaneously(ctx, atOnce, func(ctx context.Context, conn *redis.Conn, i int) (bool, error) {
			if conn == nil {
				return fourCommands(ctx, r.client, key, i)
			}
			return fourCommands(ctx, conn, key, i)
		})
		if err != nil {
			return most, rounds, err
		}
		note := "one by one: ZREMRANGEBYSCORE, ZCARD, ZADD, EXPIRE"
		if rounds > 1 {
			note += fmt.Sprintf(", round %d", rounds)
		}
		most = max(most, s.row("four commands", answers, note).Passed)
	}
	return most, rounds, nil
}

// fourCommands is a common but racy limiter: each command is atomic, but the four together are not.
func fourCommands(ctx context.Context, c redis.Cmdable, key string, i int) (bool, error) {
	now := time.Now()
	horizon := strconv.FormatInt(now.Add(-window).UnixMicro(), 10)
	if err := c.ZRemRangeByScore(ctx, key, "-inf", horizon).Err(); err != nil {
		return false, err
	}
	count, err := c.ZCard(ctx, key).Result()
	if err != nil || count >= limit {
		return false, err
	}
	member := fmt.Sprintf("%d-%d", now.UnixMicro(), i)
	if err := c.ZAdd(ctx, key, redis.Z{Score: float64(now.UnixMicro()), Member: member}).Err(); err != nil {
		return false, err
	}
	return true, c.Expire(ctx, key, window).Err()
}

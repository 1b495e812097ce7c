package replay

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
)

// onlyLogs returns the number of first deferred calls that only matter to sliding logs now.
func (t *tracked) onlyLogs(now int64) int {
	n := t.sent
	for n < len(t.calls) && t.onlyLog(n, now) {
		n++
	}
	return n - t.sent
}

func (t *tracked) onlyLog(n int, now int64) bool {
	c := &t.calls[n]
	for i := range c.plan.rules {
		r := &c.plan.rules[i]
		if r.log || c.cost(r.track) == 0 {
			continue
		}
		m := &t.marks[r.track]
		if r.forgets && c.at > now-r.span || !r.forgets && now < m.idle && n >= m.from {
			return false
		}
	}
	return true
}

// load writes the state that calls would leave in the sliding logs: a header and a list of times, see window_log.lua. It skips times
// outside the window. A busy subject has thousands of calls, and making each would be most of the work.
func (e *engine) load(ctx context.Context, t *tracked, calls []call, now int64) error {
	ctx = context.WithoutCancel(ctx)
	for track := range t.marks {
		r, limit := ruleOf(calls, track)
		if r == nil {
			continue
		}
		m := &t.marks[track]
		t.advance(m, track, r.span, now)
		push := []any{"rpush", ""}
		for i := range calls {
			if c := &calls[i]; c.kind == taken && c.at > now-r.span && c.cost(track) > 0 {
				push = append(push, strconv.FormatInt(c.at, 10))
			}
		}
		if len(push) == 2 {
			continue
		}
		key := fcall.KeyOf(e.client.Fcall().Namespace(), fcall.Tag(fcall.Subject(t.name)), "sliding_log", limit.Name)
		need := fmt.Sprintf("%d %d", (limit.Window+time.Microsecond-1)/time.Microsecond, limit.Limit)
		push[1] = key
		e.clock.Set(time.UnixMicro(calls[len(calls)-1].at))
		for _, words := range [][]any{
			{"lpop", key}, // header
			push,
			{"ltrim", key, -m.sum, -1}, // at least those within the window
			{"lpush", key, need},
			{"pexpire", key, r.span/1000 + 1},
		} {
			e.asked++
			if err := e.server.Process(ctx, redis.NewCmd(ctx, words...)); err != nil && !errors.Is(err, redis.Nil) {
				return fmt.Errorf("%s %s: %w", words[0], key, err)
			}
		}
	}
	return nil
}

// ruleOf returns the rule and the limit of a track if it is a sliding log, or nil. It searches the plans of calls.
func ruleOf(calls []call, track int) (*rule, *guard.Limit) {
	var last *plan
	for i := range calls {
		pl := calls[i].plan
		if pl == last {
			continue
		}
		last = pl
		for n := range pl.rules {
			if r := &pl.rules[n]; r.log && r.track == track {
				return r, &pl.limits[n]
			}
		}
	}
	return nil, nil
}

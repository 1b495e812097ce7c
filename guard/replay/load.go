package replay

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// onlyLogs counts the first calls not told yet that do nothing but add their times to sliding logs.
func (t *tracked) onlyLogs() int {
	n := 0
	for _, c := range t.calls[t.sent:] {
		if c.kind != taken || !c.plan.onlyLogs {
			break
		}
		n++
	}
	return n
}

// load brings the logs into the state in which the calls would leave them: a list of times, see window_log.lua. Times that have
// left the window are left out. A busy subject has thousands, and a call for each would be most of the work.
func (e *engine) load(ctx context.Context, t *tracked, calls []call, now int64) error {
	ctx = context.WithoutCancel(ctx)
	for track := range t.marks {
		r, name := ruleOf(calls, track)
		if r == nil {
			continue
		}
		m := &t.marks[track]
		t.advance(m, track, r.span, now)
		push := []any{"rpush", ""}
		for i := range calls {
			if c := &calls[i]; c.at > now-r.span && c.cost(track) > 0 {
				push = append(push, strconv.FormatInt(c.at, 10))
			}
		}
		if len(push) == 2 {
			continue
		}
		key := fcall.KeyOf(e.client.Fcall().Namespace(), fcall.Tag(fcall.Subject(t.name)), "sliding_log", name)
		push[1] = key
		e.clock.Set(time.UnixMicro(calls[len(calls)-1].at))
		for _, words := range [][]any{
			push,
			{"ltrim", key, -m.sum, -1}, // as many as are within the window, or more
			{"pexpire", key, r.span/1000 + 1},
		} {
			e.asked++
			if err := e.server.Process(ctx, redis.NewCmd(ctx, words...)); err != nil {
				return fmt.Errorf("%s %s: %w", words[0], key, err)
			}
		}
	}
	return nil
}

// ruleOf finds the rule and the name of a track in the calls that take of it.
func ruleOf(calls []call, track int) (*rule, string) {
	var last *plan
	for i := range calls {
		pl := calls[i].plan
		if pl == last || calls[i].cost(track) == 0 {
			continue
		}
		last = pl
		for n := range pl.rules {
			if pl.rules[n].track == track {
				return &pl.rules[n], pl.params.Limits[n].Name
			}
		}
	}
	return nil, ""
}

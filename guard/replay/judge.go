package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/gen/cost"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A job is one line to decide.
type job struct {
	number   int64
	at       time.Time
	endpoint int
	client   *client
	status   int // 0 without one
	request  guard.Request
	decision *guard.Decision
}

// A judge is a guard with a server of its own, whose clock follows the log.
type judge struct {
	clock  *embedded.ManualClock
	server *embedded.Server
	guard  *guard.Guard
}

// newJudge returns a judge of a policy. It asks for no challenge, because a log has none, passes requests that no limit counts, and takes no
// tokens in batches, which real time ends.
func newJudge(p *policy.Policy) (*judge, error) {
	told := *p
	told.Limits, told.Endpoints = unbatched(p.Limits), slices.Clone(p.Endpoints)
	for i := range told.Endpoints {
		e := &told.Endpoints[i]
		e.Challenge, e.Unbounded, e.Limits = nil, true, unbatched(e.Limits)
	}
	j := &judge{clock: embedded.NewManualClock(time.UnixMicro(0))}
	j.server = embedded.New(embedded.Options{Clock: j.clock})
	ctx := context.Background()
	for _, code := range []string{genguard.Library.Code, cost.Library.Code} {
		if err := j.server.Process(ctx, redis.NewStringCmd(ctx, "function", "load", code)); err != nil {
			return nil, fmt.Errorf("load a library: %w", err)
		}
	}
	var err error
	j.guard, err = guard.New(j.server, &told, guard.Options{CacheSize: -1, NoOverrides: true})
	return j, err
}

func unbatched(limits []policy.Limit) []policy.Limit {
	limits = slices.Clone(limits)
	for i := range limits {
		limits[i].Prefetch = nil
	}
	return limits
}

func (j *judge) close() { _, _ = j.guard.Close(), j.server.Close() }

// decide decides the jobs of a shard.
func (j *judge) decide(ctx context.Context, jobs []job, shard, of int) error {
	for i := range jobs {
		jb := &jobs[i]
		if jb.client.number%of != shard {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		j.clock.Set(jb.at)
		var err error
		if jb.decision, err = j.guard.Decide(context.Background(), jb.request); err != nil {
			return fmt.Errorf("line %d: %w", jb.number, err)
		}
		if c := jb.decision.Charge; c != nil {
			if _, err := c.Release(context.Background()); err != nil {
				return fmt.Errorf("line %d: %w", jb.number, err)
			}
			c.End(context.Background(), guard.End{Counts: func(r *policy.Responses) bool { return jb.status == 0 || slices.Contains(r.Status, jb.status) }})
		}
	}
	return nil
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/gen/cost"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Options configure Run. The zero value counts addresses and finds endpoints by the policy's patterns.
type Options struct {
	// Endpoint is the endpoint of all lines. Defaults to that of the policy's patterns.
	Endpoint string
	// Subject is the field that identifies the client. Defaults to ByIP.
	Subject Subject
	// Late is the most time that a line may be earlier than a line before it. Defaults to 1 min.
	Late time.Duration
	// Progress is called after each block of lines, from one goroutine. Defaults to nothing.
	Progress func(Progress)
}

// Progress is the progress of a replay.
type Progress struct {
	Lines int64
	At    time.Time // of the last decided line
}

// ErrNothing means that no line of the log could be read.
var ErrNothing = errors.New("no line could be read")

// ErrEmpty means that the log has no lines.
var ErrEmpty = errors.New("the log is empty")

// Run replays a log against a policy. The log has lines in the common or combined format of Apache and nginx, or JSON objects with time (RFC 3339, or
// seconds since 1970), ip, method and path, and if known status, user and id; it may be compressed with gzip. Run returns a *policy.Error, ErrEmpty, ErrNothing (as an *UnreadableError), the error of reading
// the log, or that of ctx.
func Run(ctx context.Context, log io.Reader, p *policy.Policy, o Options) (*Report, error) {
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	if o.Late == 0 {
		o.Late = time.Minute
	}
	in, err := newLogReader(log)
	if err != nil {
		return nil, err
	}
	routes, err := newRoutes(p, o.Endpoint)
	if err != nil {
		return nil, err
	}
	clients, err := newClients(p, o.Subject)
	if err != nil {
		return nil, err
	}
	shards := 1
	if clients.separate() {
		shards = runtime.GOMAXPROCS(0)
	}
	judges := make([]*judge, shards)
	for i := range judges {
		if judges[i], err = newJudge(p); err != nil {
			return nil, err
		}
		defer judges[i].close()
	}
	r := newReporter(p, clients)
	prep := &preparer{policy: p, routes: routes, clients: clients, late: o.Late, preflights: slices.ContainsFunc(p.Exempt, isPreflight)}
	if err := pump(ctx, in, prep, judges, r, o.Progress); err != nil {
		return nil, err
	}
	return r.report()
}

// pump reads lines, decides them and counts the decisions, each in a goroutine of its own.
func pump(ctx context.Context, log *logReader, prep *preparer, judges []*judge, r *reporter, progress func(Progress)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, decided := make(chan *batch, 2), make(chan *batch, 2)
	var readErr, failed error
	go func() {
		defer close(read)
		for {
			block, err := log.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					readErr = fmt.Errorf("read log: %w", err)
				}
				return
			}
			select {
			case read <- prep.prepare(block):
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		defer close(decided)
		for b := range read {
			if failed == nil {
				failed = decide(ctx, b.jobs, judges)
			}
			if failed != nil {
				cancel()
				continue
			}
			decided <- b
		}
	}()
	for b := range decided {
		r.add(b)
		if progress != nil {
			progress(Progress{Lines: r.rep.Lines, At: r.rep.Last})
		}
	}
	return errors.Join(failed, readErr)
}

// decide decides jobs, each by the judge of its client, in order.
func decide(ctx context.Context, jobs []job, judges []*judge) error {
	errs := make([]error, len(judges))
	var all sync.WaitGroup
	for shard, j := range judges {
		all.Go(func() { errs[shard] = j.decide(ctx, jobs, shard, len(judges)) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// A job is one line to decide.
type job struct {
	number   int64
	at       time.Time
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

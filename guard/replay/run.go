package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// Options configure Run. The zero value counts addresses and finds endpoints by the policy's patterns.
type Options struct {
	// Endpoint is the endpoint of all lines. Defaults to that of the policy's patterns.
	Endpoint string
	// Subject is the field that identifies the client. Defaults to ByIP.
	Subject Subject
	// Late is the most time that a line may be earlier than a line before it. Defaults to 1 min.
	Late time.Duration
	// Shards is the number of goroutines that decide. It does not change results. Defaults to one per processor.
	Shards int
	// Progress is called after each block of lines, from one goroutine. Defaults to nothing.
	Progress func(Progress)

	sequential bool        // make one call for each line, in order
	asked      func(int64) // is called with the number of calls
}

// Progress is the progress of a replay.
type Progress struct {
	Lines int64
	Bytes int64     // of the uncompressed log
	At    time.Time // of the last decided line
}

// ErrNothing means that no line of the log could be read.
var ErrNothing = errors.New("no line could be read")

// ErrEmpty means that the log has no lines.
var ErrEmpty = errors.New("the log is empty")

// Run replays a log against a policy. It returns a *policy.Error, ErrEmpty, ErrNothing (as an *UnreadableError), the error of reading
// the log, or that of ctx.
func Run(ctx context.Context, log *accesslog.Reader, p *policy.Policy, o Options) (*Report, error) {
	p, err := p.Complete()
	if err != nil {
		return nil, err
	}
	if o.Shards == 0 {
		o.Shards = runtime.GOMAXPROCS(0)
	}
	if o.Late == 0 {
		o.Late = time.Minute
	}
	p, concurrent, counting := withoutUntold(p)
	routes, err := newRoutes(p, o.Endpoint)
	if err != nil {
		return nil, err
	}
	coverage := newCoverage(p, o.Subject)
	clients, err := newClients(coverage, o.Shards)
	if err != nil {
		return nil, err
	}
	ps := compile(p, coverage)
	judge, err := newJudge(ps, o.Shards, o.sequential)
	if err != nil {
		return nil, err
	}
	defer judge.close()
	prep := &preparer{plans: ps, routes: routes, clients: clients, late: o.Late}
	r := newReporter(ps, string(log.Format()))
	r.concurrent, r.counting = concurrent, counting
	if err := pump(ctx, log, prep, judge, r, o.Progress); err != nil {
		return nil, err
	}
	if o.asked != nil {
		o.asked(judge.asked())
	}
	return r.report(clients)
}

// pump reads and prepares lines in one goroutine, and decides them in this one and those of the judge.
func pump(ctx context.Context, log *accesslog.Reader, prep *preparer, judge *judge, r *reporter, progress func(Progress)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	batches := make(chan *batch, 2)
	var readErr error
	go func() {
		defer close(batches)
		for {
			block, err := log.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					readErr = fmt.Errorf("read log: %w", err)
				}
				return
			}
			select {
			case batches <- prep.prepare(block):
			case <-ctx.Done():
				return
			}
		}
	}()
	var failed error
	for b := range batches {
		if failed != nil {
			continue
		}
		if failed = judge.decide(ctx, b.jobs); failed != nil {
			cancel()
			continue
		}
		r.add(b)
		if progress != nil {
			progress(Progress{Lines: r.rep.Lines, Bytes: r.bytes, At: r.rep.Last})
		}
	}
	return errors.Join(failed, readErr)
}

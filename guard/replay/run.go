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

// Options of Run; the zero value is useful.
type Options struct {
	// Endpoint is the endpoint of every line. Defaults to what the policy's patterns say.
	Endpoint string
	// Subject is the field that says who a request is. Defaults to ByIP.
	Subject Subject
	// Late is how much earlier than one before it a line may be and still be decided. Defaults to one minute.
	Late time.Duration
	// Shards is how many goroutines decide. Defaults to one a processor. It changes no result.
	Shards int
	// Progress is called now and then, from one goroutine. Defaults to nothing.
	Progress func(Progress)

	straight bool        // each line is a call, one after the other
	asked    func(int64) // is told the number of calls
}

// Progress is how far a replay is.
type Progress struct {
	Lines int64
	Bytes int64 // of the log, unpacked
	At    time.Time
}

// ErrNothing is a log without a line that could be read.
var ErrNothing = errors.New("no line could be read")

// ErrEmpty is a log without a line.
var ErrEmpty = errors.New("the log is empty")

// Run replays a log against a policy. Errors: those of reading, policy.Error, ErrEmpty, ErrNothing (an *UnreadableError), and the
// context's.
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
	routes, err := newRoutes(p, o.Endpoint)
	if err != nil {
		return nil, err
	}
	whom := whomOf(p, o.Subject)
	people, err := newPeople(whom, o.Shards)
	if err != nil {
		return nil, err
	}
	ps := compile(p, whom)
	judge, err := newJudge(ps, o.Shards, o.straight)
	if err != nil {
		return nil, err
	}
	defer judge.close()
	prep := &preparer{plans: ps, routes: routes, people: people, late: o.Late}
	r := newReporter(ps, string(log.Format()))
	if err := pump(ctx, log, prep, judge, r, o.Progress); err != nil {
		return nil, err
	}
	if o.asked != nil {
		o.asked(judge.asked())
	}
	return r.report(people)
}

// pump reads and prepares in one goroutine, and decides in this one and those of the judge.
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
					readErr = fmt.Errorf("read the log: %w", err)
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

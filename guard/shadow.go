package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Shadow evaluates a second policy on live requests, in the background. It counts in its own keys and refuses nothing. It skips requests
// when its queue is full. Its limits of kind concurrency count a request only while it is evaluated, because a shadow policy does not know
// when requests end.
type Shadow struct {
	// Policy is the policy to evaluate. Its namespace must differ from the live policy's namespace. Defaults to the live policy in a
	// namespace of its own.
	Policy *policy.Policy
	// Channel selects the release channel of the libraries; see fcall.Options. Defaults to no channel.
	Channel string
	// Queue is the most requests that wait for evaluation. Further requests are skipped and counted. Defaults to 1024.
	Queue int
}

// A Difference is the number of requests to an endpoint with one pair of outcomes.
type Difference struct {
	Endpoint string
	// Live and Shadow are the outcomes by each policy: "allowed", a Reason, or "error".
	Live, Shadow string
	Count        int64
}

// A ShadowReport compares the outcomes of both policies.
type ShadowReport struct {
	// Outcomes are sorted by Count, the largest first.
	Outcomes []Difference
	// Skipped is the number of requests that the shadow did not evaluate.
	Skipped int64
}

var errSameNamespace = errors.New("namespace must differ from the live policy's namespace")

// A shadowRunner evaluates requests again by the shadow policy.
type shadowRunner struct {
	guard *Guard
	live  hooks
	jobs  chan shadowJob
	end   sync.WaitGroup

	mu      sync.Mutex
	counts  map[Difference]int64 // keys have no Count
	skipped int64
	closed  bool
}

type shadowJob struct {
	ctx   context.Context
	event Event
}

func newShadowRunner(live *Guard, s *Shadow) (*shadowRunner, error) {
	p := s.Policy
	if p == nil {
		p = new(*live.Policy())
		p.Namespace += ".shadow"
	}
	o := live.options
	o.Shadow, o.Hooks, o.Channel, o.overridesOf = nil, nil, s.Channel, live.Policy().Namespace
	g, err := newShadowGuard(live.rdb, p, o, live.Policy().Namespace)
	if err != nil {
		return nil, err
	}
	queue := s.Queue
	if queue == 0 {
		queue = 1024
	}
	f := &shadowRunner{guard: g, live: live.hooks, jobs: make(chan shadowJob, queue), counts: make(map[Difference]int64)}
	f.end.Add(1)
	go f.run()
	return f, nil
}

func newShadowGuard(rdb fcall.Caller, p *policy.Policy, o Options, live string) (*Guard, error) {
	g, err := New(rdb, p, o)
	if err != nil {
		return nil, err
	}
	if g.Policy().Namespace == live {
		return nil, errSameNamespace
	}
	return g, nil
}

// enqueue queues a decision, or skips it if the queue is full.
func (f *shadowRunner) enqueue(ctx context.Context, e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	select {
	case f.jobs <- shadowJob{context.WithoutCancel(ctx), e}:
	default:
		f.skipped++
	}
}

func (f *shadowRunner) run() {
	defer f.end.Done()
	for w := range f.jobs {
		e := Event{Request: w.event.Request}
		if e.Decision, e.Err = f.guard.Decide(w.ctx, e.Request); e.Decision != nil {
			_, _ = e.Decision.Charge.Release(w.ctx) // it is not known how long the request runs
		}
		f.mu.Lock()
		f.counts[Difference{Endpoint: e.Request.Endpoint, Live: outcomeOf(w.event), Shadow: outcomeOf(e)}]++
		f.mu.Unlock()
		f.live.shadowed(w.ctx, w.event, e)
	}
}

func outcomeOf(e Event) string {
	switch {
	case e.Err != nil:
		return "error"
	case e.Decision.Allowed:
		return "allowed"
	}
	return string(e.Decision.Reason)
}

func (f *shadowRunner) close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.jobs)
	}
	f.mu.Unlock()
	f.end.Wait()
	_ = f.guard.Close()
}

// ShadowReport compares the outcomes so far. It returns the zero report without a Shadow.
func (g *Guard) ShadowReport() ShadowReport {
	f := g.shadow
	if f == nil {
		return ShadowReport{}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := ShadowReport{Skipped: f.skipped}
	for d, n := range f.counts {
		d.Count = n
		r.Outcomes = append(r.Outcomes, d)
	}
	slices.SortFunc(r.Outcomes, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Live, b.Live), cmp.Compare(a.Shadow, b.Shadow))
	})
	return r
}

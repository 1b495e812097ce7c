package guard

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// A Shadow is a policy that is tried beside the live one, on requests as they come: it counts in keys of its own and refuses
// nobody. It runs behind the requests, and leaves some out when it can not follow.
type Shadow struct {
	// Policy is what is tried. Its namespace must differ from the live one's. Defaults to the live policy, for a channel.
	Policy *policy.Policy
	// Channel is the channel of the libraries that it calls. Defaults to the libraries themselves.
	Channel string
	// Queue is how many requests may wait for it; more are left out and counted. Defaults to 1024.
	Queue int
}

// A Difference is how often two policies answered alike or otherwise.
type Difference struct {
	Endpoint string
	// Live and Shadow are what they said: "allowed", a Reason, or "error".
	Live, Shadow string
	Count        int64
}

// ShadowReport is what came of a Shadow so far.
type ShadowReport struct {
	// Outcomes are sorted by how often they occurred, the most frequent first.
	Outcomes []Difference
	// Skipped requests are those that the shadow could not follow.
	Skipped int64
}

// errSameNamespace is a shadow that would count for the live policy.
var errSameNamespace = errors.New("the namespace must differ from the live policy's")

// A follower decides again what was decided.
type follower struct {
	guard *Guard
	live  hooks
	work  chan followed
	end   sync.WaitGroup

	mu      sync.Mutex
	counts  map[Difference]int64 // by a Difference without its Count
	skipped int64
	closed  bool
}

type followed struct {
	ctx   context.Context
	event Event
}

func newFollower(live *Guard, s *Shadow) (*follower, error) {
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
	f := &follower{guard: g, live: live.hooks, work: make(chan followed, queue), counts: make(map[Difference]int64)}
	f.end.Add(1)
	go f.run()
	return f, nil
}

func newShadowGuard(rdb redis.UniversalClient, p *policy.Policy, o Options, live string) (*Guard, error) {
	g, err := New(rdb, p, o)
	if err != nil {
		return nil, err
	}
	if g.Policy().Namespace == live {
		return nil, errSameNamespace
	}
	return g, nil
}

// follow queues a decision, or leaves it out.
func (f *follower) follow(ctx context.Context, e Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	select {
	case f.work <- followed{context.WithoutCancel(ctx), e}:
	default:
		f.skipped++
	}
}

func (f *follower) run() {
	defer f.end.Done()
	for w := range f.work {
		e := Event{Request: w.event.Request}
		e.Decision, e.Err = f.guard.Decide(w.ctx, e.Request)
		f.mu.Lock()
		f.counts[Difference{Endpoint: e.Request.Endpoint, Live: said(w.event), Shadow: said(e)}]++
		f.mu.Unlock()
		f.live.shadowed(w.ctx, w.event, e)
	}
}

func said(e Event) string {
	switch {
	case e.Err != nil:
		return "error"
	case e.Decision.Allowed:
		return "allowed"
	}
	return string(e.Decision.Reason)
}

func (f *follower) close() {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.work)
	}
	f.mu.Unlock()
	f.end.Wait()
	_ = f.guard.Close()
}

// ShadowReport tells how the shadow's answers compare; the zero report without a Shadow.
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

package main

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/rlfunc/rlfunc/internal/batch"
)

// A scene is what is simulated: processes whose requests have a limit of their subject and a global limit, each in one call to its shard.
// The limits of subjects refuse none.
type scene struct {
	processes, shards int
	rate              float64       // requests a second of all processes
	limit             int64         // of the global limit in a window
	window            time.Duration // of the global limit
	gcra              bool
	most              int64 // 0 for no prefetch
	lease             time.Duration
	subjects          uint64          // 0 for requests with the global limit only
	away              []time.Duration // round trip that each region adds; processes take turns
	timeout           time.Duration
	lasts             time.Duration
	seed              uint64

	latency func(*rand.Rand) time.Duration // of a call, without away and the wait for other calls
	service time.Duration                  // of one call, in the shard
	shardOf func(subject uint64) int       // nil for a hash; the global limit is on shard 0
	every   time.Duration                  // requests come at this interval, not at random; 0 for rate
}

// A result counts what happened in a scene.
type result struct {
	requests, admitted, refused, undecided int64
	calls                                  []int64
	over                                   float64           // the most that was admitted, of the stated bound
	waits                                  [][]time.Duration // sorted, by region
}

// A run is a scene under way.
type run struct {
	scene
	result
	queue     queue
	random    *rand.Rand
	draw      func() (process int, subject uint64)
	shards    []shard
	global    window
	processes []process
}

// A process decides requests as package guard does.
type process struct {
	region  int
	refused time.Duration // the cached refusal of the global limit ends
	batch   *batch.Batch
	demand  batch.Demand
	calling bool
	waiting []request
}

type request struct {
	process *process
	subject uint64
	start   time.Duration
}

const globalShard = 0

var epoch = time.Unix(0, 0)

func simulate(s scene) result {
	if s.away == nil {
		s.away = []time.Duration{0}
	}
	r := &run{
		scene: s, random: rand.New(rand.NewPCG(s.seed, 1)), shards: make([]shard, s.shards), processes: make([]process, s.processes),
		global: window{limit: s.limit, length: s.window, gcra: s.gcra},
	}
	r.waits = make([][]time.Duration, len(s.away))
	r.draw = s.draws(r.random)
	for i := range r.processes {
		p := &r.processes[i]
		p.region, p.batch, p.demand = i%len(s.away), batch.Empty(s.limit), batch.Demand{Most: s.most, For: s.lease}
	}
	r.queue.add(0, r.arrive)
	for len(r.queue.events) > 0 {
		e := r.queue.next()
		e.run(e.at)
	}
	for _, s := range r.shards {
		r.calls = append(r.calls, s.calls)
	}
	for _, waits := range r.waits {
		slices.Sort(waits)
	}
	r.over = float64(r.global.fullest) / float64(s.limit)
	if s.gcra {
		r.over = r.global.highest / (float64(s.limit) + r.global.gained(0, s.lease))
	}
	return r.result
}

// draws returns what draws requests: their processes, and their subjects by Zipf's law.
func (s *scene) draws(random *rand.Rand) func() (process int, subject uint64) {
	if s.subjects == 0 {
		return func() (int, uint64) { return random.IntN(s.processes), 0 }
	}
	zipf := rand.NewZipf(random, 1.1, 1000, s.subjects-1) // the first has 0.02 % of requests: more would reach its own limit
	return func() (int, uint64) { return random.IntN(s.processes), zipf.Uint64() }
}

// arrive makes a request, and schedules the next one.
func (r *run) arrive(now time.Duration) {
	next := r.every
	if next == 0 {
		next = time.Duration(r.random.ExpFloat64() / r.rate * float64(time.Second))
	}
	if now+next < r.lasts {
		r.queue.add(now+next, r.arrive)
	}
	process, subject := r.draw()
	q := request{process: &r.processes[process], subject: subject, start: now}
	r.requests++
	if r.most > 0 {
		r.takeToken(q, now)
	} else if now < q.process.refused {
		r.done(q, now, false)
	} else {
		r.askBoth(q, now)
	}
}

// done ends a request.
func (r *run) done(q request, now time.Duration, admitted bool) {
	waited := now - q.start
	switch {
	case waited > r.timeout:
		r.undecided++
		waited = r.timeout // a failure mode decides
	case admitted:
		r.admitted++
	default:
		r.refused++
	}
	r.waits[q.process.region] = append(r.waits[q.process.region], waited)
}

// call sends a call to a shard. It runs there, and answered when the answer is back.
func (r *run) call(p *process, shard int, now time.Duration, runs, answered func(now time.Duration)) {
	way := (max(r.latency(r.random)-r.service, 0) + r.away[p.region]) / 2
	r.queue.add(now+way, func(now time.Duration) {
		served := r.shards[shard].serve(now, r.service)
		r.queue.add(served, func(now time.Duration) {
			runs(now)
			r.queue.add(now+way, answered)
		})
	})
}

func nothing(time.Duration) {}

func (r *run) shard(subject uint64) int {
	if r.shardOf != nil {
		return r.shardOf(subject)
	}
	return int(subject * 0x9e3779b97f4a7c15 >> 32 % uint64(len(r.shards)))
}

// askBoth asks for the global limit and the subject's in two calls at once.
func (r *run) askBoth(q request, now time.Duration) {
	open, admitted, retry := 1, false, time.Duration(0)
	answered := func(now time.Duration) {
		if open--; open > 0 {
			return
		}
		if !admitted {
			q.process.refused = max(q.process.refused, now+retry)
			if r.subjects > 0 { // the charge of the subject's limit is refunded
				r.call(q.process, r.shard(q.subject), now, nothing, nothing)
			}
		}
		r.done(q, now, admitted)
	}
	r.call(q.process, globalShard, now, func(now time.Duration) {
		taken, _, _, wait := r.global.take(now, 1)
		if admitted, retry = taken > 0, wait; admitted {
			r.global.admit(now)
		}
	}, answered)
	if r.subjects > 0 {
		open++
		r.call(q.process, r.shard(q.subject), now, nothing, answered)
	}
}

// takeToken takes a token of the process's batch, as prefetch.Limiter does.
func (r *run) takeToken(q request, now time.Duration) {
	p := q.process
	b := p.batch
	switch {
	case now-q.start > r.timeout:
		r.done(q, now, false)
	case now < b.Ends && b.Take():
		r.global.admit(now)
		r.askSubject(q, now)
	case now < b.Refuses:
		r.done(q, now, false)
	case p.calling:
		p.waiting = append(p.waiting, q)
	default:
		r.fill(q, now)
	}
}

func (r *run) askSubject(q request, now time.Duration) {
	if r.subjects == 0 {
		r.done(q, now, true)
		return
	}
	r.call(q.process, r.shard(q.subject), now, nothing, func(now time.Duration) { r.done(q, now, true) })
}

// fill takes a new batch, and a token of it for the request.
func (r *run) fill(q request, began time.Duration) {
	p := q.process
	used, unused := p.batch.Close()
	want := p.demand.Next(p.batch, used, int64(len(p.waiting)), began)
	p.calling = true
	answered := false
	r.queue.add(began+r.timeout, func(now time.Duration) {
		if !answered { // its tokens are lost
			answered = true
			r.done(q, now+1, false)
			r.install(p, batch.Empty(want), now)
		}
	})
	take := func(now time.Duration) {
		var g batch.Grant
		r.call(p, globalShard, now, func(now time.Duration) {
			g.Taken, g.Remaining, g.Reset, g.Retry = r.global.take(now, want)
			g.Expires = epoch.Add(now + g.Reset)
			if g.Taken > 0 {
				r.global.admit(now) // the request's own
			}
		}, func(now time.Duration) {
			if answered {
				return
			}
			answered = true
			if r.gcra {
				g = g.OfBucket(r.window/time.Duration(r.limit), r.lease)
			} else {
				g = g.OfWindow()
			}
			b := batch.New(g, want, began, now, r.lease)
			took := b.Take()
			r.install(p, b, now)
			if took {
				r.askSubject(q, now)
			} else {
				r.takeToken(q, now)
			}
		})
	}
	r.refund(p, p.batch, unused, began, take)
}

// install makes a batch the process's own, and lets the requests go on that waited for it.
func (r *run) install(p *process, b *batch.Batch, now time.Duration) {
	waiting := p.waiting
	p.batch, p.calling, p.waiting = b, false, nil
	if b.Left() > 0 {
		r.queue.add(max(b.Ends, now), func(now time.Duration) {
			_, unused := b.Close()
			r.refund(p, b, unused, now, nothing)
		})
	}
	for _, q := range waiting {
		r.takeToken(q, now)
	}
}

// refund refunds unused tokens of a batch, and then goes on.
func (r *run) refund(p *process, b *batch.Batch, unused int64, now time.Duration, then func(now time.Duration)) {
	if unused == 0 {
		then(now)
		return
	}
	r.call(p, globalShard, now, func(now time.Duration) {
		if epoch.Add(now).Before(b.Expires) {
			r.global.refund(now, unused)
		}
	}, then)
}

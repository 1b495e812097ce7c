package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

const (
	patience = 30 * time.Second // for what a test waits for
	workers  = 24               // half of them call in the plain mode, in which calls share round trips if there are many
	// A deadline that no call meets on a busy machine, where a test is not about deadlines. A primary that is to hand over pauses its clients
	// for 10 s, if no majority agrees in time.
	unhurried = 30 * time.Second
	// A new subject joins at this interval, and the old ones continue: at any time most have used up their limit, and some have not.
	stepsPerSubject = 150
)

// A load is who calls and how.
type load struct {
	clients  []redis.UniversalClient // one for each process; each is called in every mode that it has
	deadline time.Duration           // of a call; defaults to 250 ms
	fcall    fcall.Options
	absent   bool // the libraries are not deployed before the first call
}

// traffic calls all the time, every library, from one begin to end.
type traffic struct {
	deadline time.Duration
	services []*service
	stop     context.CancelFunc
	done     sync.WaitGroup

	mu       sync.Mutex
	steps    int
	report   report
	answered time.Time // the last
	failed   time.Time // the first
	accounts map[accountName]*account
}

// to is one service that calls one server, over go-redis: a call's context bounds it.
func to(t testing.TB, m *engines.Member) load {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: m.Addr, ContextTimeoutEnabled: true, ReadTimeout: unhurried})
	t.Cleanup(func() { c.Close() })
	return load{clients: withOthers(t, c), deadline: unhurried}
}

// libraries are those that the traffic calls.
var libraries = []*fcall.Library{ratelimit.Library, cost.Library, abuse.Library, challenge.Library}

// deploy loads the libraries wherever they are absent.
func deploy(t *testing.T, caller fcall.Caller) {
	t.Helper()
	for _, lib := range libraries {
		if _, err := loader.Ensure(t.Context(), caller, lib); err != nil {
			t.Fatal(err)
		}
	}
}

// begin deploys the libraries, starts the traffic, and waits for its first answers.
func begin(t *testing.T, l load) *traffic {
	t.Helper()
	if !l.absent {
		deploy(t, l.clients[0])
	}
	if l.deadline == 0 {
		l.deadline = 250 * time.Millisecond
	}
	tr := &traffic{deadline: l.deadline, answered: time.Now(), accounts: map[accountName]*account{}}
	tr.report.Failed, tr.report.Modes = map[string]int{}, map[mode]time.Duration{}
	for _, client := range l.clients {
		for _, m := range modesOf(client) {
			tr.services = append(tr.services, newService(t, tr, client, m, l.fcall))
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	tr.stop = stop
	t.Cleanup(func() {
		stop()
		tr.done.Wait()
	})
	tr.done.Go(func() { tr.sleep(ctx) })
	plainly := slices.DeleteFunc(slices.Clone(tr.services), func(s *service) bool { return s.mode != plain })
	for i := range max(workers, len(tr.services)) {
		s := tr.services[i%len(tr.services)]
		if i >= max(workers/2, len(tr.services)) {
			s = plainly[i%min(2, len(plainly))]
		}
		tr.done.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				s.step(n%len(kinds), tr.subject())
				time.Sleep(time.Millisecond) // a steady rate, also where every call fails at once
			}
		})
	}
	tr.awaitAnswers(t, 200)
	return tr
}

// sleep records how late the machine ends a sleep.
func (tr *traffic) sleep(ctx context.Context) {
	const nap = 5 * time.Millisecond
	for ctx.Err() == nil {
		start := time.Now()
		time.Sleep(nap)
		tr.mu.Lock()
		tr.report.Stall = max(tr.report.Stall, time.Since(start)-nap)
		tr.mu.Unlock()
	}
}

func (tr *traffic) subject() string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.steps++
	return "user" + strconv.Itoa(rand.IntN(4+tr.steps/stepsPerSubject))
}

// outcome is what the caller knows of a call.
type outcome int

const (
	answered outcome = iota
	nothing          // it did not run
	unknown          // it may have run
)

// call makes one call and records its outcome.
func (s *service) call(f func(context.Context) error) outcome {
	tr := s.traffic
	// A call is bounded by its deadline alone: it is not broken off when the traffic ends.
	ctx, cancel := context.WithTimeout(context.Background(), tr.deadline)
	defer cancel()
	start := time.Now()
	err := f(ctx)
	end := time.Now()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.report.Calls++
	tr.report.Slowest = max(tr.report.Slowest, end.Sub(start))
	if err == nil {
		tr.report.Answered++
		tr.report.Calm++
		tr.report.Silence = max(tr.report.Silence, end.Sub(tr.answered))
		tr.answered = end
		s.answered++
		return answered
	}
	tr.report.Calm = 0
	if tr.failed.IsZero() {
		tr.failed = end
	}
	tr.report.Trouble = end.Sub(tr.failed)
	tr.report.Modes[s.mode] = tr.report.Trouble
	class, out := classify(err)
	tr.report.Failed[class]++
	if tr.report.Failed[class] == 1 {
		tr.report.Errors = append(tr.report.Errors, err)
	}
	return out
}

// await waits until the report is as the test wants it.
func (tr *traffic) await(t *testing.T, what string, ok func(report) bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok(tr.now()) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s: %s", what, tr.now())
		}
		time.Sleep(time.Millisecond)
	}
}

// awaitAnswers waits for n more answers, among them some in every mode.
func (tr *traffic) awaitAnswers(t *testing.T, n int) {
	t.Helper()
	before, every := tr.now().Answered, tr.inEveryMode(n)
	tr.await(t, fmt.Sprint(n, " answers"), func(r report) bool { return r.Answered >= before+n && every() })
}

// awaitCalm waits for n answers without a failure between them, in every mode.
func (tr *traffic) awaitCalm(t *testing.T, n int) {
	t.Helper()
	start, every := tr.now().Answered, tr.inEveryMode(n)
	tr.await(t, fmt.Sprint(n, " answers in a row"), func(r report) bool { return r.Calm >= n && r.Answered >= start+n && every() })
}

// inEveryMode reports whether each service has had its part of n answers since now: a quarter of what would be even.
func (tr *traffic) inEveryMode(n int) func() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	before := map[*service]int{}
	for _, s := range tr.services {
		before[s] = s.answered
	}
	return func() bool {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		for s, had := range before {
			if s.answered < had+n/len(before)/4 {
				return false
			}
		}
		return true
	}
}

// awaitFailed waits until n more calls have failed in a way that the text names, "nothing ran: OOM".
func (tr *traffic) awaitFailed(t *testing.T, class string, n int) {
	t.Helper()
	before := tr.now().Failed[class]
	tr.await(t, fmt.Sprint(n, " of ", class), func(r report) bool { return r.Failed[class] >= before+n })
}

// now is the report so far.
func (tr *traffic) now() report {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.report.clone()
}

// end stops the traffic and settles the accounts. The servers have to answer by then.
func (tr *traffic) end(t *testing.T) report {
	t.Helper()
	tr.mu.Lock()
	tr.report.Silence = max(tr.report.Silence, time.Since(tr.answered))
	tr.mu.Unlock()
	tr.stop()
	tr.done.Wait()
	tr.report.settle(t, tr.services[0], tr.accounts)
	t.Logf("%s", tr.report)
	return tr.report.clone()
}

package prefetch

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

func limits(t testing.TB) *ratelimit.Client {
	t.Helper()
	server := embedded.New(embedded.Options{})
	t.Cleanup(func() { server.Close() })
	rdb := server.Client()
	t.Cleanup(func() { rdb.Close() })
	if err := rdb.FunctionLoad(context.Background(), ratelimit.Library.Code).Err(); err != nil {
		t.Fatal(err)
	}
	client, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestNew_rejectsOptions(t *testing.T) {
	client := limits(t)
	for want, o := range map[string]Options{
		"Most must be from 1 to 10000, got 0":                              {For: time.Second},
		"Most must be from 1 to 10000, got -1":                             {Most: -1, For: time.Second},
		"Most must be at most what the limit admits at once, 100, got 101": {Most: 101, For: time.Second},
		"For must be more than 0 and at most 10s, got 0s":                  {Most: 1},
		"For must be more than 0 and at most 10s, got 11s":                 {Most: 1, For: 11 * time.Second},
	} {
		_, err := GCRA(client, ratelimit.GCRAParams{Subject: "all", Limit: 5000, Period: time.Second, Burst: 100}, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
		if _, err := FixedWindow(client, ratelimit.FixedWindowParams{Subject: "all", Limit: 100, Window: time.Second}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	o := Options{Most: 1, For: time.Second}
	if _, err := GCRA(client, ratelimit.GCRAParams{Subject: "all", Limit: 5, Period: time.Second, Cost: new(int64(2))}, o); !errors.Is(err, errCost) {
		t.Error(err)
	}
	if _, err := FixedWindow(client, ratelimit.FixedWindowParams{Subject: "all", Limit: 5, Window: time.Second, Cost: new(int64(2))}, o); !errors.Is(err, errCost) {
		t.Error(err)
	}
	if _, err := Quota(client, func() ratelimit.QuotaParams { return ratelimit.QuotaParams{Limit: 5, Cost: new(int64(2))} }, o); !errors.Is(err, errCost) {
		t.Error(err)
	}
}

// A process that is quiet takes one token a request. One that is not takes as many as it uses in Options.For.
func TestTake_followsDemand(t *testing.T) {
	var now time.Duration
	l, err := GCRA(limits(t), ratelimit.GCRAParams{Subject: "all", Limit: 1000, Period: time.Hour}, Options{Most: 100, For: 100 * time.Millisecond, now: func() time.Duration { return now }})
	if err != nil {
		t.Fatal(err)
	}
	take := func(every time.Duration, times int) Stats {
		before := l.Stats()
		for range times {
			now += every
			if d, err := l.Take(t.Context()); err != nil || !d.Allowed {
				t.Fatal(d, err)
			}
		}
		after := l.Stats()
		return Stats{Calls: after.Calls - before.Calls, Taken: after.Taken - before.Taken, Refunded: after.Refunded - before.Refunded}
	}
	if s := take(time.Second, 10); s != (Stats{Calls: 10, Taken: 10}) {
		t.Errorf("a request a second: %+v", s)
	}
	take(time.Millisecond, 100)
	if s := take(time.Millisecond, 400); s.Calls > 40 { // 100 in 100 ms, of which tokens are used in 40
		t.Errorf("a request a millisecond: %+v", s)
	}
	take(time.Second, 2)
	if s := take(time.Second, 10); s != (Stats{Calls: 10, Taken: 10}) {
		t.Errorf("a request a second again: %+v", s)
	}
}

// One process with all demand uses the limit, and takes no more from Redis than it uses.
func TestTake_usesTheLimit(t *testing.T) {
	client := limits(t)
	for name, start := range map[string]func() (*Limiter, error){
		"gcra": func() (*Limiter, error) {
			return GCRA(client, ratelimit.GCRAParams{Subject: "all", Limit: 50_000, Period: time.Hour}, Options{Most: 1000, For: time.Second})
		},
		"fixed_window": func() (*Limiter, error) {
			return FixedWindow(client, ratelimit.FixedWindowParams{Subject: "all", Limit: 50_000, Window: time.Hour}, Options{Most: 1000, For: time.Second})
		},
		"quota": func() (*Limiter, error) {
			now := time.Now()
			p := ratelimit.QuotaParams{
				Subject: "quota", Limit: 50_000,
				Previous: now.Add(-2 * time.Hour), Start: now.Add(-time.Hour), Next: now.Add(time.Hour), After: now.Add(2 * time.Hour),
			}
			return Quota(client, func() ratelimit.QuotaParams { return p }, Options{Most: 1000, For: time.Second})
		},
	} {
		l, err := start()
		if err != nil {
			t.Fatal(err)
		}
		var allowed atomic.Int64
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for range 2000 {
					d, err := l.Take(t.Context())
					if err != nil {
						t.Error(err)
						return
					}
					if d.Allowed {
						allowed.Add(1)
					} else if d.RetryAfter <= 0 || d.RetryAfter > time.Hour {
						t.Errorf("refused for %v", d.RetryAfter)
					}
				}
			})
		}
		wg.Wait()
		l.Close()
		s := l.Stats()
		for s.Taken-s.Refunded > allowed.Load() { // the timer of an earlier batch still refunds
			time.Sleep(time.Millisecond)
			s = l.Stats()
		}
		t.Logf("%s: %d of 50,000, %+v", name, allowed.Load(), s)
		if n := allowed.Load(); n < 49_500 || name != "gcra" && n > 50_000 || s.Taken-s.Refunded != n {
			t.Errorf("%s: %d of 50,000 were allowed, %+v", name, n, s)
		}
		if s.Calls > 5000 {
			t.Errorf("%s: %d calls", name, s.Calls)
		}
		if _, err := l.Take(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("%s: after Close: %v", name, err)
		}
	}
}

// A stub answers as the test says.
type stub struct {
	answer func(ctx context.Context, most int64) (grant, error)
	back   chan int64
}

func (s *stub) take(ctx context.Context, most int64) (grant, error) { return s.answer(ctx, most) }

func (s *stub) refund(_ context.Context, tokens int64, _ time.Time) (int64, error) {
	s.back <- tokens
	return tokens, nil
}

// If Redis does not answer, all who wait get one error, and not one timeout after the other.
func TestTake_failsOnceForAllWhoWait(t *testing.T) {
	fails, calls := make(chan error), atomic.Int64{}
	l, err := newLimiter(&stub{answer: func(context.Context, int64) (grant, error) {
		calls.Add(1)
		return grant{}, <-fails
	}}, 100, Options{Most: 10, For: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	for range 20 {
		go func() {
			_, err := l.Take(t.Context())
			errs <- err
		}()
	}
	for l.waitingNow() < 19 {
		time.Sleep(time.Millisecond)
	}
	down := errors.New("down")
	fails <- down
	for range 20 {
		if err := <-errs; !errors.Is(err, down) {
			t.Error(err)
		}
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func (l *Limiter) waitingNow() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting
}

// A request that stops waiting fails alone: those that wait with it get the tokens of its call, and none is lost.
func TestTake_cancelledByItsCaller(t *testing.T) {
	answers := make(chan struct{})
	l, err := newLimiter(&stub{answer: func(ctx context.Context, most int64) (grant, error) {
		select {
		case <-ctx.Done():
			return grant{}, ctx.Err()
		case <-answers:
			return grant{Taken: most}.OfBucket(time.Millisecond, time.Second), nil
		}
	}, back: make(chan int64, 10)}, 100, Options{Most: 10, For: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan error), make(chan error)
	go func() {
		_, err := l.Take(ctx)
		first <- err
	}()
	for !l.calling() {
		time.Sleep(time.Millisecond)
	}
	go func() {
		d, err := l.Take(t.Context())
		if err == nil && !d.Allowed {
			err = errors.New("refused")
		}
		second <- err
	}()
	for l.waitingNow() < 1 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	close(answers)
	if err := <-second; err != nil {
		t.Error(err)
	}
	if s := l.Stats(); s.Calls != 1 || s.Failed != 0 {
		t.Errorf("%+v, want one call", s)
	}
}

func (l *Limiter) calling() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.call != nil
}

// Unused tokens are refunded when they end, and by Close.
func TestTake_refundsWhatItDidNotUse(t *testing.T) {
	back := make(chan int64)
	l, err := newLimiter(&stub{answer: func(context.Context, int64) (grant, error) {
		return grant{Taken: 10}.OfBucket(time.Millisecond, time.Second), nil
	}, back: back}, 100, Options{Most: 10, For: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if d, err := l.Take(t.Context()); err != nil || !d.Allowed {
			t.Fatal(d, err)
		}
	}
	if n := <-back; n != 7 {
		t.Errorf("%d tokens were refunded, want 7", n)
	}
	l.options.For = time.Hour
	if d, err := l.Take(t.Context()); err != nil || !d.Allowed {
		t.Fatal(d, err)
	}
	go l.Close()
	if n := <-back; n != 9 {
		t.Errorf("%d tokens were refunded by Close, want 9", n)
	}
}

// A token is refunded although its client has hung up.
func TestRefund_afterItsContextHasEnded(t *testing.T) {
	l, err := FixedWindow(limits(t), ratelimit.FixedWindowParams{Subject: "all", Limit: 100, Window: time.Hour}, Options{Most: 10, For: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first, err := l.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Take(t.Context()); err != nil { // ends the batch of the first
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.Refund(ctx, first)
	if s := l.Stats(); s.Refunded == 0 || s.Lost != 0 {
		t.Errorf("%+v, want the token refunded", s)
	}
}

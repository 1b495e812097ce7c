package guard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

type endKey struct{}

// atTheEnd calls a function of the call's context after Redis answered and before the answer arrives.
type atTheEnd struct{}

func (atTheEnd) DialHook(next redis.DialHook) redis.DialHook { return next }
func (atTheEnd) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if f, ok := ctx.Value(endKey{}).(func()); ok {
			f()
		}
		return err
	}
}

func (atTheEnd) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func peekSpent(t *testing.T, rdb redis.UniversalClient, subject string) fcall.Micros {
	t.Helper()
	costs, err := cost.New(rdb, fcall.Options{Namespace: "guard"})
	if err != nil {
		t.Fatal(err)
	}
	peek, err := costs.Peek(t.Context(), cost.PeekParams{Subject: fcall.Subject(subject), Limits: []cost.PeekLimits{{Budget: 1_000_000, Window: 24 * time.Hour}}})
	if err != nil {
		t.Fatal(err)
	}
	return peek.Limits[0].Spent
}

// An answer that arrives as the caller gives up is either used and stays charged, or refunded.
func TestDecide_answerAtTheDeadlineIsUsedOrRefunded(t *testing.T) {
	const requests = 4000
	rdb, _ := inProcess(t)
	rdb.AddHook(atTheEnd{})
	g := newGuard(t, rdb, budgeted(), guard.Options{CacheSize: -1})
	used := make([]bool, requests)
	var count atomic.Int64
	var all sync.WaitGroup
	for worker := range 16 { // more than there are processors, so that they are interrupted anywhere
		all.Go(func() {
			for i := worker; i < requests; i += 16 {
				ctx, cancel := context.WithCancel(t.Context())
				end := func() { // the caller is cancelled, and the answer arrives a moment later
					cancel()
					for began := time.Now(); time.Since(began) < time.Duration(i%200)*500*time.Nanosecond; {
					}
				}
				d, err := g.Decide(context.WithValue(ctx, endKey{}, end), guard.Request{Endpoint: "chat", Subjects: []string{fmt.Sprintf("ip=%d", i)}})
				switch {
				case err == nil && d.Allowed && d.Fallback == guard.FallbackNone:
					used[i] = true
					count.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Errorf("request %d: %+v, %v", i, d, err)
				}
			}
		})
	}
	all.Wait()
	if err := g.Close(); err != nil { // waits for refunds
		t.Fatal(err)
	}
	lost, kept := 0, 0
	for i := range requests {
		switch got := peekSpent(t, rdb, fmt.Sprintf("ip=%d", i)); {
		case used[i] && got != 100_000:
			lost++
		case !used[i] && got != 0:
			kept++
		}
	}
	t.Logf("%d of %d answers were used", count.Load(), requests)
	if lost > 0 || kept > 0 {
		t.Errorf("%d answers were used and lost their hold, %d were not used and kept it", lost, kept)
	}
}

// A cancelled request keeps the charges of its receipt, because a repeat may have passed meanwhile.
func TestDecide_cancelledRequestKeepsThePaidReceipt(t *testing.T) {
	rdb, _ := inProcess(t)
	rdb.AddHook(atTheEnd{})
	g := newGuard(t, rdb, budgeted(), guard.Options{CacheSize: -1})
	decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=bob"}}) // loads the library
	r := guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "once"}
	passed := make(chan *guard.Decision, 1)
	ctx, cancel := context.WithCancel(t.Context())
	returned := make(chan struct{})
	repeat := func() { // holds the answer back until the caller has returned
		d, err := g.Decide(context.Background(), r)
		if err != nil {
			t.Error(err)
		}
		passed <- d
		cancel()
		<-returned
	}
	_, err := g.Decide(context.WithValue(ctx, endKey{}, repeat), r)
	close(returned)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if d := <-passed; !d.Allowed || !d.Duplicate {
		t.Fatalf("the repeat: %+v", d)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if got := peekSpent(t, rdb, "ip=ada"); got != 100_000 {
		t.Errorf("a request that passed is paid for with %v", got)
	}
}

// A request that passed by a fallback keeps the late counts, but settles its own reservation.
func TestDecide_lateAnswerAfterAFallbackKeepsCountsAndCancelsTheReservation(t *testing.T) {
	t.Parallel()
	rdb, _ := inProcess(t)
	load(t, rdb)
	late := slow{make(chan struct{})}
	rdb.AddHook(late)
	p := budgeted()
	p.Timeout = 2 * time.Second // the call must reach Redis within it, also on a busy machine
	p.Endpoints[0].Limits = []policy.Limit{{Name: "minute", Limit: 10, Window: time.Minute}}
	g := newGuard(t, rdb, p, guard.Options{})
	d := decide(t, g, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Receipt: "once"})
	if !d.Allowed || d.Fallback != guard.FallbackOpen {
		t.Fatalf("%+v", d)
	}
	close(late.gate)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if got := peekSpent(t, rdb, "ip=ada"); got != 0 {
		t.Errorf("%v is reserved under another name", got)
	}
	if err := d.Settle(t.Context(), 300_000); err != nil {
		t.Fatal(err)
	}
	if got := peekSpent(t, rdb, "ip=ada"); got != 300_000 {
		t.Errorf("%v is spent", got)
	}
	again := newGuard(t, rdb, func() *policy.Policy { p := *p; p.Timeout = 10 * time.Second; return &p }(), guard.Options{})
	if d := decide(t, again, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}}); d.Limits[0].Remaining != 8 {
		t.Errorf("%d of 10 are left after a request that passed and another one", d.Limits[0].Remaining)
	}
}

// underway is slow, and signals when a call is sent.
type underway struct {
	slow
	sent chan struct{}
}

func (u underway) note(cmds ...redis.Cmder) {
	if !hasCall(cmds...) {
		return
	}
	select {
	case u.sent <- struct{}{}:
	default:
	}
}

func (u underway) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		u.note(cmd)
		return u.slow.ProcessHook(next)(ctx, cmd)
	}
}

func (u underway) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		u.note(cmds...)
		return u.slow.ProcessPipelineHook(next)(ctx, cmds)
	}
}

// A late answer of a cancelled request is refunded, for subject and global limits of every kind.
func TestDecide_lateAnswerRefundsGlobalLimits(t *testing.T) {
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		load(t, rdb)
		late := underway{slow{make(chan struct{})}, make(chan struct{}, 1)}
		rdb.AddHook(late)
		p := &policy.Policy{Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{{Name: "chat"}}}
		for _, kind := range []policy.Kind{policy.SlidingLog, policy.SlidingCounter, policy.FixedWindow, policy.GCRA} {
			l := policy.Limit{Name: string(kind), Kind: kind, Limit: 7, Window: time.Minute} // 7 a minute is not a whole number of milliseconds
			p.Endpoints[0].Limits = append(p.Endpoints[0].Limits, l)
			p.Limits = append(p.Limits, byAll(l)...)
		}
		g := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
		ctx, cancel := context.WithCancel(t.Context())
		gaveUp := make(chan error)
		go func() {
			_, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: 3})
			gaveUp <- err
		}()
		<-late.sent
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		close(late.gate)
		if err := g.Close(); err != nil { // waits for refunds
			t.Fatal(err)
		}
		again := newGuard(t, rdb, p, guard.Options{CacheSize: -1})
		d := decide(t, again, guard.Request{Endpoint: "chat", Subjects: []string{"ip=ada"}, Weight: 2})
		for _, l := range d.Limits {
			want := int64(5)
			if l.Kind == policy.SlidingLog {
				want = 6
			}
			if l.Remaining != want {
				t.Errorf("%s, global %v: %d of 7 are left after a weight of 2, want %d", l.Name, l.Global, l.Remaining, want)
			}
		}
		if len(d.Limits) != 8 {
			t.Errorf("%d limits, want 8", len(d.Limits))
		}
	})
}

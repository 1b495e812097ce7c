package prefetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A history has up to eight processes that share one limit. Calls take time, fail, and lose their replies; processes crash; other
// processes run while a call is under way, and some call the limit without a limiter. All of them have one clock, which the test moves.
type history struct {
	random    *rand.Rand
	clock     *embedded.ManualClock
	client    *ratelimit.Client
	guard     *guard.Client
	processes []*Limiter
	limit     func() (*Limiter, error)
	direct    func(ctx context.Context) (bool, error)
	admitted  []time.Time
	windows   map[time.Time]bool // by their end
	depth     int
	longest   time.Duration // of a step
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)

// eachHistory runs a test with seeds from 0, on one server that is emptied in between.
func eachHistory(t *testing.T, test func(seed uint64, h *history)) {
	t.Helper()
	clock := embedded.NewManualClock(start)
	server := embedded.New(embedded.Options{Clock: clock})
	t.Cleanup(func() { server.Close() })
	rdb := server.Client()
	t.Cleanup(func() { rdb.Close() })
	if err := rdb.FunctionLoad(t.Context(), ratelimit.Library.Code).Err(); err != nil {
		t.Fatal(err)
	}
	if err := rdb.FunctionLoad(t.Context(), guard.Library.Code).Err(); err != nil {
		t.Fatal(err)
	}
	client, err := ratelimit.New(server, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	guarded, err := guard.New(server, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	many := histories
	if testing.Short() {
		many /= 10
	}
	if n, err := strconv.Atoi(os.Getenv("RLFUNC_SOAK")); err == nil {
		many = n
	}
	for seed := range uint64(many) {
		if err := rdb.FlushDB(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		clock.Set(start)
		test(seed, &history{random: rand.New(rand.NewPCG(seed, 1)), clock: clock, client: client, guard: guarded, windows: map[time.Time]bool{}})
	}
}

func (h *history) now() time.Duration { return h.clock.Now().Sub(start) }

func (h *history) wait(most time.Duration) {
	h.clock.Set(h.clock.Now().Add(time.Duration(h.random.Int64N(int64(most)+1)) / time.Microsecond * time.Microsecond))
}

// run plays some steps.
func (h *history) run(t *testing.T, processes, steps int) {
	t.Helper()
	for range processes {
		h.processes = append(h.processes, h.start(t))
	}
	for range steps {
		h.step(t)
	}
}

func (h *history) start(t *testing.T) *Limiter {
	t.Helper()
	l, err := h.limit()
	if err != nil {
		t.Fatal(err)
	}
	l.source = &unreliable{source: l.source, h: h, t: t}
	return l
}

func (h *history) step(t *testing.T) {
	t.Helper()
	if h.random.IntN(3) == 0 {
		h.wait(h.longest)
	}
	i := h.random.IntN(len(h.processes))
	switch l := h.processes[i]; h.random.IntN(20) {
	case 0: // it crashes, and is started again
		h.processes[i] = h.start(t)
	case 1, 2: // its timer ends a batch, perhaps late
		if b := l.batch.Load(); h.now() >= b.Ends {
			l.end(b)
		}
	case 3:
		if allowed, err := h.direct(t.Context()); err == nil && allowed {
			h.admitted = append(h.admitted, h.clock.Now())
		}
	default:
		if l.call != nil { // it is under way further up
			return
		}
		requests := 1 + h.random.IntN(8)
		if h.random.IntN(5) == 0 {
			requests = 70 // more than there are
		}
		for range requests {
			calls := l.stats.Calls
			d, err := l.Take(t.Context())
			if err != nil || !d.Allowed {
				continue
			}
			if h.random.IntN(10) == 0 { // something else refuses the request
				h.wait(h.longest)
				l.Refund(t.Context(), d)
				continue
			}
			at := h.clock.Now()
			if l.stats.Calls > calls { // the server admitted this one
				at = l.source.(*unreliable).decided
			}
			h.admitted = append(h.admitted, at)
		}
	}
}

// ofGuard makes the limit one of guard, which other clients call through Admit.
func (h *history) ofGuard(l guard.Limit, o Options) {
	h.limit = func() (*Limiter, error) { return Guarded(h.guard, "all", func() guard.Limit { return l }, o) }
	h.direct = func(ctx context.Context) (bool, error) {
		r, err := h.guard.Admit(ctx, guard.AdmitParams{Subject: "all", Limits: guard.PackLimit(l)})
		if l.Kind == guard.LimitKindFixedWindow && r.Allowed {
			h.windows[time.UnixMilli(h.clock.Now().UnixMilli()).Add(r.Limits[0].ResetAfter)] = true
		}
		return r.Allowed, err
	}
}

// unreliable is a limit behind a network.
type unreliable struct {
	source
	h       *history
	t       *testing.T
	decided time.Time // the server's time of the last call
}

var errLost = errors.New("lost")

// travel takes time, in which other processes run.
func (u *unreliable) travel() (lost bool) {
	u.h.wait(u.h.longest / 10)
	if u.h.depth < 3 && u.h.random.IntN(12) == 0 {
		u.h.depth++
		u.h.step(u.t)
		u.h.depth--
	}
	return u.h.random.IntN(25) == 0
}

func (u *unreliable) take(ctx context.Context, most int64) (grant, error) {
	if u.travel() {
		return grant{}, errLost
	}
	g, err := u.source.take(ctx, most)
	u.decided = u.h.clock.Now()
	if err != nil {
		u.t.Error(err)
	}
	if g.Taken > 0 {
		u.h.windows[g.Expires] = true
	}
	if u.travel() {
		return grant{}, errLost
	}
	return g, err
}

func (u *unreliable) refund(ctx context.Context, tokens int64, expires time.Time) (int64, error) {
	if u.travel() {
		return 0, errLost
	}
	n, err := u.source.refund(context.WithoutCancel(ctx), tokens, expires) // the clock is not that of the machine
	if err != nil {
		u.t.Error(err)
	}
	return n, err
}

// histories is their number without RLFUNC_SOAK.
const histories = 100

// No process, crash, loss or delay has a GCRA admit more than burst and what it gains in a time and in Options.For.
func TestGCRA_staysWithinItsBound(t *testing.T) {
	worst := 0.0
	eachHistory(t, func(seed uint64, h *history) {
		p := ratelimit.GCRAParams{Subject: "all", Limit: 1 + h.random.Int64N([]int64{3, 10, 50}[h.random.IntN(3)]), Period: time.Duration(1+h.random.IntN(10)) * 100 * time.Millisecond}
		if h.random.IntN(2) == 0 {
			p.Burst = 1 + h.random.Int64N([]int64{4, 20, 60}[h.random.IntN(3)])
		}
		burst := p.Burst
		if burst == 0 {
			burst = p.Limit
		}
		o := Options{Most: 1 + h.random.Int64N(burst), For: time.Duration(1+h.random.IntN(40)) * 10 * time.Millisecond, now: h.now}
		h.longest = []time.Duration{time.Millisecond, 10 * time.Millisecond, o.For / 2, 2 * o.For}[h.random.IntN(4)]
		h.limit = func() (*Limiter, error) { return GCRA(h.client, p, o) }
		h.direct = func(ctx context.Context) (bool, error) {
			r, err := h.client.GCRA(ctx, p)
			return r.Allowed, err
		}
		if h.random.IntN(2) == 0 {
			h.ofGuard(guard.Limit{Name: "all", Kind: guard.LimitKindGCRA, Limit: p.Limit, Window: p.Period, Burst: p.Burst}, o)
		}
		h.run(t, 1+h.random.IntN(8), 80)
		// A bucket of that size takes all that was admitted.
		rate := float64(p.Limit) / float64(p.Period)
		most, level, before := float64(burst)+rate*float64(o.For), 0.0, start
		slices.SortFunc(h.admitted, time.Time.Compare)
		for _, at := range h.admitted {
			level = max(level-rate*float64(at.Sub(before)), 0) + 1
			before = at
			worst = max(worst, level/most)
			if level > most+1e-6 {
				t.Fatalf("seed %d: at %v %.2f more were admitted than gained, at most %.2f may be: %+v %+v", seed, at, level, most, p, o)
			}
		}
	})
	t.Logf("the worst stretch admitted %.1f %% of its bound", 100*worst)
}

// No process, crash, loss or delay has a window admit more than its limit.
func TestFixedWindow_isExact(t *testing.T) {
	worst := 0.0
	eachHistory(t, func(seed uint64, h *history) {
		p := ratelimit.FixedWindowParams{Subject: "all", Limit: 1 + h.random.Int64N(60), Window: time.Duration(1+h.random.IntN(20)) * 50 * time.Millisecond}
		o := Options{Most: 1 + h.random.Int64N(p.Limit), For: time.Duration(1+h.random.IntN(40)) * 10 * time.Millisecond, now: h.now}
		h.longest = []time.Duration{time.Millisecond, 10 * time.Millisecond, p.Window / 2, 2 * p.Window}[h.random.IntN(4)]
		h.limit = func() (*Limiter, error) { return FixedWindow(h.client, p, o) }
		h.direct = func(ctx context.Context) (bool, error) {
			r, err := h.client.FixedWindow(ctx, p)
			if r.Allowed {
				h.windows[time.UnixMilli(h.clock.Now().UnixMilli()).Add(r.ResetAfter)] = true
			}
			return r.Allowed, err
		}
		if h.random.IntN(2) == 0 {
			h.ofGuard(guard.Limit{Name: "all", Kind: guard.LimitKindFixedWindow, Limit: p.Limit, Window: p.Window}, o)
		}
		h.run(t, 1+h.random.IntN(8), 80)
		fullest, err := h.fullest(p.Window)
		if err != nil || fullest > p.Limit {
			t.Fatalf("seed %d: a window admitted %d: %v: %+v %+v", seed, fullest, err, p, o)
		}
		worst = max(worst, float64(fullest)/float64(p.Limit))
	})
	t.Logf("the fullest window admitted %.1f %% of its limit", 100*worst)
}

// No process, crash, loss, delay or wrong clock of a caller has a period admit more than its limit.
func TestQuota_isExact(t *testing.T) {
	hours, err := calendar.New(calendar.Period{Every: calendar.Hour})
	if err != nil {
		t.Fatal(err)
	}
	worst, periods := 0.0, 0
	eachHistory(t, func(seed uint64, h *history) {
		limit := 1 + h.random.Int64N(60)
		o := Options{Most: 1 + h.random.Int64N(limit), For: time.Duration(1+h.random.IntN(100)) * 100 * time.Millisecond, now: h.now}
		h.longest = []time.Duration{time.Millisecond, time.Second, 10 * time.Minute, 2 * time.Hour}[h.random.IntN(4)]
		h.clock.Set(start.Truncate(time.Hour).Add(time.Hour - time.Duration(h.random.Int64N(int64(4*h.longest)))).Truncate(time.Microsecond))
		around := func(slow time.Duration) calendar.Boundaries { return hours.Around(h.clock.Now().Add(-slow)) }
		params := func(slow time.Duration) ratelimit.QuotaParams {
			b := around(slow)
			return ratelimit.QuotaParams{Subject: "all", Limit: limit, Previous: b.Previous, Start: b.Start, Next: b.Next, After: b.After}
		}
		row := func(slow time.Duration) guard.Limit {
			b := around(slow)
			return guard.Limit{Name: "all", Kind: guard.LimitKindQuota, Limit: limit, Previous: b.Previous, Start: b.Start, Next: b.Next, After: b.After}
		}
		wrong := func() time.Duration { return time.Duration(h.random.Int64N(int64(2*time.Hour))) - time.Hour }
		guarded := h.random.IntN(2) == 0
		h.limit = func() (*Limiter, error) {
			slow := wrong()
			if guarded {
				return Guarded(h.guard, "all", func() guard.Limit { return row(slow) }, o)
			}
			return Quota(h.client, func() ratelimit.QuotaParams { return params(slow) }, o)
		}
		h.direct = func(ctx context.Context) (bool, error) {
			if guarded {
				r, err := h.guard.Admit(ctx, guard.AdmitParams{Subject: "all", Limits: guard.PackLimit(row(wrong()))})
				return r.Allowed, err
			}
			r, err := h.client.Quota(ctx, params(wrong()))
			return r.Allowed, err
		}
		h.run(t, 1+h.random.IntN(8), 80)
		admitted := map[time.Time]int64{} // by period
		for _, at := range h.admitted {
			hour := at.Truncate(time.Hour)
			admitted[hour]++
			worst = max(worst, float64(admitted[hour])/float64(limit))
			if admitted[hour] > limit {
				t.Fatalf("seed %d: the hour of %v admitted %d, want %d at most: %+v", seed, at, admitted[hour], limit, o)
			}
		}
		periods += len(admitted)
	})
	t.Logf("the fullest of %d periods admitted %.1f %% of its limit", periods, 100*worst)
}

// fullest counts each admission in the server's window of its time.
func (h *history) fullest(window time.Duration) (most int64, err error) {
	ends := slices.SortedFunc(maps.Keys(h.windows), time.Time.Compare)
	admitted := map[time.Time]int64{}
	for _, at := range h.admitted {
		i, _ := slices.BinarySearchFunc(ends, at, func(end, at time.Time) int { return cmp.Or(end.Compare(at), -1) }) // the first after it
		if i == len(ends) || at.Before(ends[i].Add(-window-time.Millisecond)) {
			return 0, fmt.Errorf("an admission at %v is in no window", at)
		}
		admitted[ends[i]]++
		most = max(most, admitted[ends[i]])
	}
	return most, nil
}

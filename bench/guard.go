package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	"github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ulule "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A service is a handler behind a limiter, in this process.
type service struct {
	name    string
	handler http.Handler
}

// deadAddr is an address without a listener.
const deadAddr = "127.0.0.1:1"

// guardRows measures requests to a net/http handler through middleware, by 1 and 64 callers: requests/s, p50 and p99. Only calls to Redis
// use the network. It also measures decisions without Redis: a cached refusal, and each failure mode while Redis is down.
func guardRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	services, done, err := guardedServices(srv.client)
	if err != nil {
		return nil, err
	}
	defer done()
	span, rounds := 500*time.Millisecond, min(s.rounds, 7)
	if s.quick {
		span = 100 * time.Millisecond
	}
	var rows []Row
	for _, callers := range []int{1, 64} {
		got := make([][]crowd, len(services))
		for round := range rounds + 1 {
			for k, svc := range services {
				if err := srv.client.FlushDB(ctx).Err(); err != nil {
					return nil, fmt.Errorf("empty the database: %w", err)
				}
				c, err := serveCrowd(svc, callers, span)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", svc.name, err)
				}
				if round > 0 { // the first one opens the connections
					got[k] = append(got[k], c)
				}
			}
		}
		for k, svc := range services {
			rows = append(rows, crowdRow("guard", svc.name, callers, got[k], "requests/s"))
		}
	}
	alone, err := aloneRows(ctx, rounds, span)
	return append(rows, alone...), err
}

// serveCrowd sends requests from the given number of goroutines during span.
func serveCrowd(svc service, goroutines int, span time.Duration) (crowd, error) {
	var took []float64
	var mu sync.Mutex
	var next atomic.Int64
	var failed atomic.Int64
	start := time.Now()
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() {
			var own []float64
			r := httptest.NewRequest(http.MethodGet, "/chat", nil) // a new request per call would take longer than the decision
			w := &answer{header: http.Header{}}
			for time.Since(start) < span {
				r.RemoteAddr = fmt.Sprintf("192.0.%d.%d:4000", next.Add(1)%40, next.Load()%250)
				clear(w.header)
				began := time.Now()
				svc.handler.ServeHTTP(w, r)
				own = append(own, float64(time.Since(began).Nanoseconds())/1000)
				if w.code != http.StatusOK {
					failed.Store(int64(w.code))
				}
			}
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		})
	}
	group.Wait()
	elapsed := time.Since(start)
	if code := failed.Load(); code != 0 {
		return crowd{}, fmt.Errorf("answered %d", code)
	}
	slices.Sort(took)
	return crowd{perSecond: rate(len(took), elapsed), p50: quantile(took, 0.5), p99: quantile(took, 0.99)}, nil
}

// An answer keeps only its status. An httptest recorder would also copy the header.
type answer struct {
	header http.Header
	code   int
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(b []byte) (int, error) { return len(b), nil }
func (a *answer) WriteHeader(code int)        { a.code = code }

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

// These limits refuse no request and, like most limits in use, gain one request in whole milliseconds.
const (
	perWindow = 1_000_000
	window    = 1000 * time.Second
)

func guardedServices(rdb *redis.Client) (services []service, done func(), err error) {
	var guards []*guard.Guard
	done = func() {
		for _, g := range guards {
			_ = g.Close()
		}
	}
	protect := func(name string, o guard.Options, p *policy.Policy, code policy.Code) {
		p.Timeout = 10 * time.Second // what is measured is not cut off
		g, e := guard.New(rdb, p, o)
		if e != nil {
			err = errors.Join(err, e)
			return
		}
		guards = append(guards, g)
		m, e := httpguard.New(g, httpguard.Options{Code: code})
		if e != nil {
			err = errors.Join(err, e)
			return
		}
		services = append(services, service{name, m.Handler(http.HandlerFunc(ok))})
	}
	gcra := policy.Limit{Name: "hour", Kind: policy.GCRA, Limit: perWindow, Window: window}
	one := func(l ...policy.Limit) *policy.Policy {
		return &policy.Policy{Endpoints: []policy.Endpoint{{Name: "chat", Match: []string{"/chat"}, Limits: l}}}
	}
	logs := []policy.Limit{{Name: "minute", Limit: perWindow, Window: time.Minute}, {Name: "hour", Limit: perWindow, Window: time.Hour}}
	global := one(gcra)
	global.Limits = []policy.Limit{{Name: "all", By: policy.By{policy.ByAll}, Kind: policy.FixedWindow, Limit: perWindow, Window: time.Second}}
	each := func(by string) policy.Limit {
		l := gcra
		l.Name, l.By = by, policy.By{by}
		return l
	}
	three := one(each(policy.ByIP), each("user"), each(policy.ByAll))
	three.Identities = map[string]policy.Identity{"user": {Func: true}}
	users := policy.Code{Funcs: map[string]identity.Func{"user": func(r *http.Request) (string, error) { return r.RemoteAddr, nil }}}

	services = append(services, service{"no limiter", http.HandlerFunc(ok)})
	protect("guard, gcra", guard.Options{}, one(gcra), policy.Code{})
	protect("guard, gcra, no sharing", guard.Options{NoSharing: true}, one(gcra), policy.Code{})
	protect("guard, minute and hour logs", guard.Options{}, one(logs...), policy.Code{})
	protect("guard, gcra and a global limit", guard.Options{}, global, policy.Code{})
	protect("guard, gcra by ip, by user and global", guard.Options{}, three, users)

	limiter429 := redis_rate.NewLimiter(rdb)
	services = append(services, service{"redis_rate in a handler", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, e := limiter429.Allow(r.Context(), r.RemoteAddr, redis_rate.Limit{Rate: perWindow, Burst: perWindow, Period: window})
		if e != nil || a.Allowed == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		ok(w, r)
	})})
	store, e := ulule.NewStoreWithOptions(rdb, limiter.StoreOptions{Prefix: "bench-guard", MaxRetry: 3})
	if e != nil {
		return nil, done, errors.Join(err, e)
	}
	fixed := limiter.New(store, limiter.Rate{Period: time.Hour, Limit: perWindow})
	services = append(services, service{"ulule/limiter middleware (fixed window)", stdlib.NewMiddleware(fixed).Handler(http.HandlerFunc(ok))})
	return services, done, err
}

// aloneRows measures decisions without Redis.
func aloneRows(ctx context.Context, rounds int, span time.Duration) ([]Row, error) {
	var rows []Row
	refused, err := refusedGuard(ctx)
	if err != nil {
		return nil, err
	}
	defer refused.Close()
	asked := guard.Request{Endpoint: "chat", Subjects: []string{"ip=192.0.2.1"}}
	rates := make([]float64, 0, rounds)
	for range rounds {
		n, start := 0, time.Now()
		for time.Since(start) < span {
			for range 1000 {
				d, err := refused.Decide(ctx, asked)
				if err != nil {
					return nil, fmt.Errorf("measure a cached refusal: %w", err)
				}
				if d.Allowed || !d.Cached { // like most callers, it does not keep d, so d is not allocated
					return nil, errors.New("measure a cached refusal: the decision was not cached")
				}
			}
			n += 1000
		}
		rates = append(rates, rate(n, time.Since(start)))
	}
	rows = append(rows, Row{
		Part: "guard", Name: "a cached refusal, 1 caller", Value: spread(rates), Unit: "decisions/s",
		Goals: []Goal{{Text: "at least 3000000", Got: spread(rates).Median, Bound: 3_000_000, Least: true}},
	})
	for _, contract := range []policy.OnFailure{policy.Open, policy.Closed, policy.Local} {
		row, err := deadRow(ctx, contract)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// refusedGuard returns a guard that has just refused ip=192.0.2.1, by Lua in this process.
func refusedGuard(ctx context.Context) (*guard.Guard, error) {
	server := embedded.New(embedded.Options{})
	rdb := server.Client()
	g, err := guard.New(rdb, &policy.Policy{Timeout: 10 * time.Second, Endpoints: []policy.Endpoint{{
		Name: "chat", Limits: []policy.Limit{{Name: "hour", Limit: 1, Window: time.Hour}},
	}}}, guard.Options{CacheTTL: time.Hour})
	if err != nil {
		return nil, err
	}
	for range 2 {
		if _, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{"ip=192.0.2.1"}}); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// deadRow measures a decision while Redis is down and the circuit breaker is open.
func deadRow(ctx context.Context, contract policy.OnFailure) (Row, error) {
	rdb := redis.NewClient(&redis.Options{Addr: deadAddr, MaxRetries: -1, DialerRetries: 1})
	defer rdb.Close()
	g, err := guard.New(rdb, &policy.Policy{OnFailure: contract, Share: 1, Endpoints: []policy.Endpoint{{
		Name: "chat", Limits: []policy.Limit{{Name: "minute", Limit: 1_000_000, Window: time.Minute}, {Name: "hour", Limit: 1_000_000, Window: time.Hour}},
	}}}, guard.Options{BreakFor: time.Hour})
	if err != nil {
		return Row{}, err
	}
	defer g.Close()
	var took []float64
	for i := range 20_000 {
		began := time.Now()
		_, err := g.Decide(ctx, guard.Request{Endpoint: "chat", Subjects: []string{fmt.Sprintf("ip=192.0.%d.%d", i%40, i%250)}})
		if err != nil && !errors.Is(err, guard.ErrUnavailable) {
			return Row{}, err
		}
		if i >= 100 { // the breaker is open by then
			took = append(took, float64(time.Since(began).Nanoseconds())/1000)
		}
	}
	slices.Sort(took)
	return Row{
		Part: "guard", Name: fmt.Sprintf("Redis dead, minute and hour logs, %s", contract), Value: spread(took), Unit: "us a decision",
		P50: new(exactly(quantile(took, 0.5))), P99: new(exactly(quantile(took, 0.99))),
		Goals: []Goal{{Text: "at most 100", Got: quantile(took, 0.5), Bound: 100}},
	}, nil
}

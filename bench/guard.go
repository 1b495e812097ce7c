package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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

const (
	rateHandler  = "redis_rate in a handler"
	ululeHandler = "ulule/limiter middleware (fixed window)"
)

// guardRows measures requests to a net/http handler through middleware. Only calls to Redis use the network. It also measures a refusal
// that guard remembers.
func guardRows(ctx context.Context, srv *server, s settings) ([]Row, error) {
	client := srv.serviceClient()
	defer client.Close()
	services, done, err := guardedServices(client)
	if err != nil {
		return nil, err
	}
	defer done()
	rows, err := crowds(ctx, "guard", "requests/s", services, srv, s)
	if err != nil || s.only != "" {
		return rows, err
	}
	cached, err := cachedRow(ctx, min(s.rounds, 7), 100*time.Millisecond)
	return append(rows, cached), err
}

// requestsTo returns a way that sends requests of 10,000 addresses to a handler.
func requestsTo(name string, handler http.Handler, goals ...ratio) way {
	return way{name, func() func(int) error {
		r := httptest.NewRequest(http.MethodGet, "/chat", nil) // a new request per call would take longer than the decision
		ctx, cancel := context.WithCancel(r.Context())         // as net/http's
		_ = cancel
		r = r.WithContext(ctx)
		w := &answer{header: http.Header{}}
		return func(i int) error {
			r.RemoteAddr = fmt.Sprintf("192.0.%d.%d:4000", i/250, i%250)
			clear(w.header)
			handler.ServeHTTP(w, r)
			switch w.code {
			case http.StatusOK:
				return nil
			case http.StatusServiceUnavailable:
				return context.DeadlineExceeded // no answer within 50 ms
			}
			return fmt.Errorf("answered %d", w.code)
		}
	}, goals}
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

func guardedServices(rdb *redis.Client) (services []way, done func(), err error) {
	var guards []*guard.Guard
	done = func() {
		for _, g := range guards {
			_ = g.Close()
		}
	}
	protect := func(name string, p *policy.Policy, code policy.Code, goals ...ratio) {
		g, e := guard.New(rdb, p, guard.Options{})
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
		services = append(services, requestsTo(name, m.Handler(http.HandlerFunc(ok)), goals...))
	}
	gcra := policy.Limit{Name: "hour", Kind: policy.GCRA, Limit: perWindow, Window: window, OnFailure: policy.Closed}
	one := func(l ...policy.Limit) *policy.Policy {
		return &policy.Policy{Endpoints: []policy.Endpoint{{Name: "chat", Match: []string{"/chat"}, Limits: l}}}
	}
	each := func(by string) policy.Limit {
		l := gcra
		l.Name, l.By = by, policy.By{by}
		return l
	}
	three := one(each(policy.ByIP), each("user"), each(policy.ByAll))
	three.Identities = map[string]policy.Identity{"user": {Func: true}}
	users := policy.Code{Funcs: map[string]identity.Func{"user": func(r *http.Request) (string, error) { return r.RemoteAddr, nil }}}

	services = append(services, requestsTo("no limiter", http.HandlerFunc(ok)))
	protect("guard, gcra", one(gcra), policy.Code{}, sooner(1, rateHandler), faster(64, 1.5, rateHandler), faster(64, 1.2, ululeHandler))
	protect("guard, gcra by ip, by user and global", three, users, sooner(1.2, rateHandler), faster(64, 1.1, rateHandler))

	limiter429 := redis_rate.NewLimiter(rdb)
	services = append(services, requestsTo(rateHandler, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, e := limiter429.Allow(r.Context(), r.RemoteAddr, redis_rate.Limit{Rate: perWindow, Burst: perWindow, Period: window})
		if e != nil || a.Allowed == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		ok(w, r)
	})))
	store, e := ulule.NewStoreWithOptions(rdb, limiter.StoreOptions{Prefix: "bench-guard", MaxRetry: 3})
	if e != nil {
		return nil, done, errors.Join(err, e)
	}
	fixed := limiter.New(store, limiter.Rate{Period: time.Hour, Limit: perWindow})
	services = append(services, requestsTo(ululeHandler, stdlib.NewMiddleware(fixed).Handler(http.HandlerFunc(ok))))
	return services, done, err
}

// cachedRow measures refusals that guard remembers, which ask no Redis.
func cachedRow(ctx context.Context, rounds int, span time.Duration) (Row, error) {
	refused, err := refusedGuard(ctx)
	if err != nil {
		return Row{}, err
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
					return Row{}, fmt.Errorf("measure a cached refusal: %w", err)
				}
				if d.Allowed || !d.Cached { // like most callers, it does not keep d, so d is not allocated
					return Row{}, errors.New("measure a cached refusal: the decision was not cached")
				}
			}
			n += 1000
		}
		rates = append(rates, rate(n, time.Since(start)))
	}
	return Row{
		Part: "guard", Name: "a cached refusal", Value: spread(rates), Unit: "decisions/s",
		Goals: []Goal{{Text: "at least 3000000", Got: spread(rates).Median, Bound: 3_000_000, Least: true}},
	}, nil
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

package serve

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

// A readiness is whether the process takes requests, for /readyz and grpc.health.v1.
type readiness struct {
	health *health.Server

	mu       sync.Mutex
	reason   string // "" if ready
	draining bool
}

func newReadiness(h *health.Server) *readiness {
	r := &readiness{health: h}
	r.set("redis has not answered yet")
	return r
}

// set sets why the process is not ready; "" if it is. It has no effect while the process drains.
func (r *readiness) set(reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return
	}
	r.reason = reason
	serving := grpc_health_v1.HealthCheckResponse_SERVING
	if reason != "" {
		serving = grpc_health_v1.HealthCheckResponse_NOT_SERVING
	}
	r.health.SetServingStatus("", serving)
	r.health.SetServingStatus("envoy.service.ratelimit.v3.RateLimitService", serving)
}

func (r *readiness) drain() {
	r.set("draining")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining = true
}

// awaitRedis is ready after the first answer of Redis.
func (r *readiness) awaitRedis(ctx context.Context, rdb redis.UniversalClient) {
	const interval = time.Second
	for {
		err := ping(ctx, rdb)
		if err == nil {
			r.set("")
			return
		}
		r.set(fmt.Sprintf("redis does not answer: %v", err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

func ping(ctx context.Context, rdb redis.UniversalClient) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return rdb.Ping(ctx).Err()
}

// ServeHTTP answers /readyz.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	reason := r.reason
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if reason != "" {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not ready:", reason)
		return
	}
	fmt.Fprintln(w, "ok")
}

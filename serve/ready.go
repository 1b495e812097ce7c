package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rlfunc/rlfunc/fcall"
	genguard "github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/guard"
)

// A readiness is whether the process takes requests, for /readyz and grpc.health.v1.
type readiness struct {
	health *health.Server
	logger *slog.Logger

	mu       sync.Mutex
	ready    bool
	problem  string // why the process is not ready; if it is, why failure modes decide
	kind     string // of the last answer; "" before it
	draining bool
}

func newReadiness(h *health.Server, l *slog.Logger) *readiness {
	r := &readiness{health: h, logger: l, problem: "redis has not answered yet"}
	r.set(false)
	return r
}

// set changes the answers of grpc.health.v1.
func (r *readiness) set(ready bool) {
	r.ready = ready
	status := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if ready {
		status = grpc_health_v1.HealthCheckResponse_SERVING
	}
	r.health.SetServingStatus("", status)
	r.health.SetServingStatus("envoy.service.ratelimit.v3.RateLimitService", status)
}

func (r *readiness) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.draining, r.problem = true, "draining"
	r.set(false)
}

// follow asks Redis until ctx ends. The process is ready after the first answer. Later problems do not end that, because the policy's
// failure modes decide meanwhile.
func (r *readiness) follow(ctx context.Context, ask func(context.Context) error) {
	const interval, within = time.Second, 2 * time.Second
	for {
		bounded, cancel := context.WithTimeout(ctx, within)
		r.answered(ask(bounded))
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
	}
}

// answered notes the answer of Redis, and logs a change.
func (r *readiness) answered(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return
	}
	r.problem = ""
	if err != nil {
		r.problem = fmt.Sprintf("redis: %v", err)
	} else if !r.ready {
		r.set(true)
	}
	was := r.kind
	r.kind = kindOf(err)
	switch {
	case r.kind == was:
	case err == nil:
		r.logger.Info("ready")
	case r.ready:
		r.logger.Warn("ready, but failure modes decide", "error", err)
	default:
		r.logger.Warn("not ready", "error", err)
	}
}

// kindOf returns what stays the same while an error is repeated.
func kindOf(err error) string {
	var unavailable *fcall.UnavailableError
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, fcall.ErrNotLoaded):
		return "not loaded"
	case errors.As(err, &unavailable):
		return "unavailable " + unavailable.Code
	}
	return "failed"
}

// newProbe returns a call that proves that Redis runs the functions that decide, as the user of the service. It loads them if guard would.
func newProbe(o *Options, g *guard.Guard) (func(context.Context) error, error) {
	client, err := genguard.New(o.Redis, fcall.Options{Namespace: g.Policy().Namespace, NoAutoLoad: o.Guard.NoAutoLoad})
	return func(ctx context.Context) error {
		_, err := client.Peek(ctx, genguard.PeekParams{Subject: "readyz"})
		return err
	}, err
}

// ServeHTTP answers /readyz.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	ready, problem := r.ready, r.problem
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	switch {
	case !ready:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "not ready:", problem)
	case problem != "":
		fmt.Fprintln(w, "ok, but failure modes decide:", problem)
	default:
		fmt.Fprintln(w, "ok")
	}
}

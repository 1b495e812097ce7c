package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
)

const (
	fingerprintHeader = "X-Fingerprint" // holds the fingerprint from POST /v1/challenge
	device            = "device"        // identity of a fingerprint in the policy
)

// A service holds the dependencies of its handlers.
type service struct {
	redis      *redis.Client
	guard      *guard.Guard
	guarded    *httpguard.Middleware
	challenges *challenge.Client
	signer     *identity.HMAC
	metrics    *prometheus.Metrics
	answers    *otter.Cache[string, answer]
	pace       time.Duration
}

func newService(client *redis.Client, s settings) (*service, error) {
	p, err := policy.Load(s.policy)
	if err != nil {
		return nil, err
	}
	svc := &service{redis: client, pace: s.pace}
	if svc.signer, err = newSigner(s.key); err != nil {
		return nil, err
	}
	if svc.metrics, err = prometheus.New(); err != nil {
		return nil, err
	}
	exported, err := telemetry.New(telemetry.Options{MeterProvider: svc.metrics.MeterProvider()})
	if err != nil {
		return nil, err
	}
	if svc.guard, err = guard.New(client, p, guard.Options{Observers: []guard.Observer{exported.Observe}}); err != nil {
		return nil, err
	}
	signed := policy.Code{Verifiers: map[string]identity.Verifier{device: svc.signer}}
	if svc.guarded, err = httpguard.New(svc.guard, httpguard.Options{Code: signed, Estimate: estimate}); err != nil {
		return nil, err
	}
	// guard consumes these challenges, so both use the same namespace.
	if svc.challenges, err = challenge.New(client, fcall.Options{Namespace: svc.guard.Policy().Namespace}); err != nil {
		return nil, err
	}
	svc.answers, err = otter.New(&otter.Options[string, answer]{
		MaximumSize: 10_000, ExpiryCalculator: otter.ExpiryWriting[string, answer](time.Minute),
	})
	return svc, err
}

// newSigner returns a signer with a key, or with a random key: fingerprints then end with this process.
func newSigner(key string) (*identity.HMAC, error) {
	if key == "" {
		slog.Warn("CHAT_KEY is not set; fingerprints are valid until this process ends")
		key = rand.Text() + rand.Text()
	}
	signer, err := identity.NewHMAC(identity.HMACKey{ID: "chat", Secret: []byte(key)})
	if err != nil {
		return nil, fmt.Errorf("read CHAT_KEY: %w", err)
	}
	return signer, nil
}

// fingerprint returns the signed fingerprint of a request and its hash, or "". It ignores unsigned ones, as guard does. guard refuses a
// request with two signed fingerprints.
func (s *service) fingerprint(r *http.Request) (fingerprint, hash string) {
	for _, value := range r.Header.Values(fingerprintHeader) {
		if hash, err := s.signer.Verify(r.Context(), value); err == nil {
			return value, hash
		}
	}
	return "", ""
}

func (s *service) close() {
	if err := s.guard.Close(); err != nil {
		slog.Error("close the guard", "err", err)
	}
	s.answers.StopAllGoroutines()
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/challenge", s.guarded.For("challenge", http.HandlerFunc(s.challenge)))
	mux.Handle("POST /v1/chat", s.readQuestion(s.guarded.For("chat", http.HandlerFunc(s.chat))))
	mux.Handle("GET /v1/models", s.guarded.For("models", http.HandlerFunc(models)))
	mux.Handle("GET /{$}", s.guarded.For("page", http.HandlerFunc(page)))
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.Handle("GET /metrics", s.metrics)
	return mux
}

func models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"models": []string{"make-believe"}})
}

// healthz reports that the process serves, and the state of Redis, which is not a reason to restart the process.
func (s *service) healthz(w http.ResponseWriter, r *http.Request) {
	state := "up"
	if err := s.redis.Ping(r.Context()).Err(); err != nil {
		state = "down"
	}
	writeJSON(w, map[string]string{"status": "ok", "redis": state})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have disconnected
}

// refuse writes a problem as guard does.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	(&httpguard.Problem{Status: status, Error: code, Message: message}).ServeHTTP(w, r)
}

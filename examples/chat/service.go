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

// fingerprintHeader brings what POST /v1/challenge gave.
const fingerprintHeader = policy.DefaultFingerprintHeader

// A service is all that its handlers need.
type service struct {
	redis      *redis.Client
	guard      *guard.Guard
	clients    *httpguard.Middleware // who is asking is told by the fingerprint
	addresses  *httpguard.Middleware // ... by the address
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
	told, err := telemetry.New(telemetry.Options{MeterProvider: svc.metrics.MeterProvider()})
	if err != nil {
		return nil, err
	}
	if svc.guard, err = guard.New(client, p, guard.Options{Hooks: []guard.Hooks{told.Hooks()}}); err != nil {
		return nil, err
	}
	if svc.clients, err = httpguard.New(svc.guard, httpguard.Options{Verifier: svc.signer, Estimate: estimate}); err != nil {
		return nil, err
	}
	byAddress, err := addressOf(p.Identity)
	if err != nil {
		return nil, err
	}
	if svc.addresses, err = httpguard.New(svc.guard, httpguard.Options{Identify: byAddress.Identify}); err != nil {
		return nil, err
	}
	// guard consumes what is issued here, so both are in one namespace.
	if svc.challenges, err = challenge.New(client, fcall.Options{Namespace: svc.guard.Policy().Namespace}); err != nil {
		return nil, err
	}
	svc.answers, err = otter.New(&otter.Options[string, answer]{
		MaximumSize: 10_000, ExpiryCalculator: otter.ExpiryWriting[string, answer](time.Minute),
	})
	return svc, err
}

// newSigner signs with the key given, or with one of this process: fingerprints then end with it.
func newSigner(key string) (*identity.HMAC, error) {
	if key == "" {
		slog.Warn("CHAT_KEY is not set: fingerprints are signed with a key that ends with this process")
		key = rand.Text() + rand.Text()
	}
	signer, err := identity.NewHMAC([]byte(key))
	if err != nil {
		return nil, fmt.Errorf("read CHAT_KEY: %w", err)
	}
	return signer, nil
}

// addressOf tells who a request is by its address alone, as the policy finds it.
func addressOf(id policy.Identity) (*identity.Identifier, error) {
	id.From, id.Fingerprint.Verify = []policy.Source{policy.FromIP}, policy.VerifyNone
	return id.Identifier(nil)
}

func (s *service) close() {
	if err := s.guard.Close(); err != nil {
		slog.Error("close the guard", "err", err)
	}
	s.answers.StopAllGoroutines()
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/challenge", s.addresses.For("challenge", http.HandlerFunc(s.challenge)))
	mux.Handle("POST /v1/chat", asking(s.clients.For("chat", http.HandlerFunc(s.chat))))
	mux.Handle("GET /v1/models", s.addresses.For("models", http.HandlerFunc(models)))
	mux.Handle("GET /{$}", s.addresses.For("page", http.HandlerFunc(page)))
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.Handle("GET /metrics", s.metrics)
	return mux
}

func models(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, map[string]any{"models": []string{"make-believe"}})
}

// healthz says that the process serves. Redis is told, and is no reason to be restarted.
func (s *service) healthz(w http.ResponseWriter, r *http.Request) {
	state := "up"
	if err := s.redis.Ping(r.Context()).Err(); err != nil {
		state = "down"
	}
	writeJSON(w, map[string]string{"status": "ok", "redis": state})
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may have gone
}

// refuse answers as the guard does.
func refuse(w http.ResponseWriter, r *http.Request, status int, code, message string) {
	(&httpguard.Problem{Status: status, Error: code, Message: message}).ServeHTTP(w, r)
}

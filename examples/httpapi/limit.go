package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// limited lets a request through to next while its client is within the limit.
func limited(next http.Handler, limits *ratelimit.Client, s settings) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 500*time.Millisecond)
		defer cancel()
		decision, err := limits.SlidingLog(ctx, ratelimit.SlidingLogParams{
			Bucket: subject(r), Limit: s.limit, Window: s.window,
			Receipt: r.Header.Get("Idempotency-Key"), // a retry of the same request is not counted again
		})
		switch {
		case errors.Is(err, fcall.ErrArgument):
			problem(w, http.StatusBadRequest, "bad_request", "Idempotency-Key must have 256 bytes at most")
		case errors.Is(err, fcall.ErrReply), errors.Is(err, fcall.ErrState):
			slog.Error("limit", "err", err)
			problem(w, http.StatusInternalServerError, "limiter_unreadable", "the limiter's answer can not be read")
		case err != nil: // nothing ran, or nobody knows: this service refuses when it can not count
			slog.Error("limit", "err", err)
			problem(w, http.StatusServiceUnavailable, "limiter_unavailable", "the limiter can not be reached")
		case !decision.Allowed:
			seconds := (decision.RetryAfter + time.Second - 1) / time.Second // rounded up: sooner would be refused again
			w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
			problem(w, http.StatusTooManyRequests, "rate_limited", "too many requests")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// subject is whom a request counts against: the API key, or the address. Who may choose a subject freely has no limit, so a real
// service checks the key first, and believes X-Forwarded-For only from its own proxies.
func subject(r *http.Request) fcall.Subject {
	if key := r.Header.Get("X-API-Key"); key != "" {
		return fcall.Subject("key=" + key)
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return fcall.Subject("addr=" + host)
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() { // one customer has a whole /64
		prefix, _ := addr.Prefix(64)
		return fcall.Subject("ip=" + prefix.String())
	}
	return fcall.Subject("ip=" + addr.String())
}

func problem(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"title": message, "status": status, "error": code})
}

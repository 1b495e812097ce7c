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

// limited passes requests to next while their client is within its limit.
func limited(next http.Handler, limits *ratelimit.Client, s settings) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 500*time.Millisecond)
		defer cancel()
		decision, err := limits.SlidingLog(ctx, ratelimit.SlidingLogParams{
			Subject: subject(r), Limit: s.limit, Window: s.window,
			Receipt: r.Header.Get("Idempotency-Key"), // a retry of the same request is not counted again
		})
		switch {
		case errors.Is(err, fcall.ErrArgument):
			problem(w, http.StatusBadRequest, "bad_request", "Idempotency-Key must have at most 256 bytes")
		case errors.Is(err, fcall.ErrReply), errors.Is(err, fcall.ErrState):
			slog.Error("limit", "err", err)
			problem(w, http.StatusInternalServerError, "limiter_unreadable", "the limiter's reply is invalid")
		case err != nil: // this service refuses requests that it may not have counted
			slog.Error("limit", "err", err)
			problem(w, http.StatusServiceUnavailable, "limiter_unavailable", "the limiter is unreachable")
		case !decision.Allowed:
			seconds := (decision.RetryAfter + time.Second - 1) / time.Second // rounded up: an earlier request would be refused
			w.Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
			problem(w, http.StatusTooManyRequests, "rate_limited", "too many requests")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// subject returns the API key of a request, or the address. A client that chooses its subject has no limit: a real service verifies the
// key, and trusts X-Forwarded-For only from its own proxies.
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
	if addr.Is6() { // one client has a whole /64
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

package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
)

// knownFor is how long a fingerprint can be exchanged for a new one.
const knownFor = 30 * 24 * time.Hour

// challenge issues a one-time challenge in a signed fingerprint. A client that sends its last fingerprint stays the same device. Any other
// client is a newcomer. Addresses have few newcomers, so that clients cannot escape a ban with a new fingerprint.
func (s *service) challenge(w http.ResponseWriter, r *http.Request) {
	if _, hash := s.fingerprint(r); hash != "" {
		s.issue(w, r, hash)
		return
	}
	s.guarded.For("newcomer", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.issue(w, r, fcall.NewToken())
	})).ServeHTTP(w, r)
}

func (s *service) issue(w http.ResponseWriter, r *http.Request, hash string) {
	ctx, cancel := context.WithTimeout(r.Context(), time.Second)
	defer cancel()
	endpoint, ok := s.guard.Policy().Endpoint("chat")
	if !ok || endpoint.Challenge == nil {
		refuse(w, r, http.StatusNotFound, "no_challenge", "The policy does not require challenges.")
		return
	}
	issued, err := s.challenges.Issue(ctx, challenge.IssueParams{
		Subject: fcall.Subject(device + "=" + hash), // the subject that guard makes of the fingerprint
		Token:   fcall.NewToken(), TTL: endpoint.Challenge.TTL,
	})
	if err != nil {
		slog.Error("issue a challenge", "err", err)
		w.Header().Set("Retry-After", "1")
		refuse(w, r, http.StatusServiceUnavailable, "limiter_unavailable", "The service cannot issue challenges right now.")
		return
	}
	fingerprint, err := s.signer.Sign(issued.Token, hash, time.Now().Add(knownFor))
	if err != nil {
		slog.Error("sign a fingerprint", "err", err)
		refuse(w, r, http.StatusInternalServerError, "not_signed", "The service cannot sign fingerprints.")
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, map[string]any{
		"challenge":             issued.Token,
		"fingerprint":           fingerprint,
		"expires_after_seconds": int64(issued.ExpiresAfter / time.Second),
	})
}

package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
)

// A question is the body of POST /v1/chat.
type question struct {
	Message   string `json:"message"`
	MaxTokens int64  `json:"max_tokens"` // of the answer: 1 to 1000, 100 when omitted

	receipt string // the signed fingerprint, as guard takes it; without one a text of this request alone
}

const (
	mostBytes = 16 << 10
	oneToken  = fcall.Micros(1_000_000) // the policy's budget is in tokens
)

type questionKey struct{}

// asking reads the question before the guard decides, which reserves as many tokens as the answer may have. It also verifies the fingerprint:
// one that guard believes is valid before, and may have expired behind it.
//
// A request goes on when its client hangs up: a retry within the endpoint's idempotency is free, so the request that it repeats must stay
// charged. Else two requests with one fingerprint, of which one hangs up in the right moment, would have an answer for nothing.
func (s *service) asking(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := question{MaxTokens: 100}
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBytes)).Decode(&q)
		if err != nil || strings.TrimSpace(q.Message) == "" || q.MaxTokens < 1 || q.MaxTokens > 1000 {
			refuse(w, r, http.StatusBadRequest, "bad_request", `The body must be {"message": "...", "max_tokens": 1 to 1000}, at most 16 KiB.`)
			return
		}
		if q.receipt, _ = s.fingerprint(r); q.receipt == "" {
			q.receipt = fcall.NewToken()
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(context.WithoutCancel(r.Context()), questionKey{}, q)))
	})
}

func questionOf(ctx context.Context) question {
	q, _ := ctx.Value(questionKey{}).(question)
	return q
}

// estimate is the most that a request can cost.
func estimate(r *http.Request) fcall.Micros {
	q := questionOf(r.Context())
	return fcall.Micros(tokensOf(q.Message)+q.MaxTokens) * oneToken
}

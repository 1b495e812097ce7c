package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
)

// A question is the body of POST /v1/chat.
type question struct {
	Message   string `json:"message"`
	MaxTokens int64  `json:"max_tokens"` // of the answer: 1 to 1000, 100 when omitted

	receipt string // the signed fingerprint, as in guard; without one, a unique text
}

const (
	maxBytes = 16 << 10
	oneToken = fcall.Micros(1_000_000) // the policy's budget is in tokens
)

type questionKey struct{}

// readQuestion reads the question before guard decides, because guard reserves as many tokens as the answer may have. It also verifies the
// fingerprint, which could expire while guard decides.
//
// The request continues if its client disconnects. A retry is free, so its original must stay charged. Otherwise a client could send two
// requests with one fingerprint, cancel one at the right moment, and get an answer for free.
func (s *service) readQuestion(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := question{MaxTokens: 100}
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBytes)).Decode(&q)
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

// estimate returns the highest cost of a request.
func estimate(r *http.Request) guard.Amounts {
	q := questionOf(r.Context())
	return guard.Amounts{Money: fcall.Micros(tokensOf(q.Message)+q.MaxTokens) * oneToken}
}

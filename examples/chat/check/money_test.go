package check

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
)

func cutConnection(t *testing.T, s *service) {
	dan := s.newClient(t, "192.0.2.13")
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	ended := make(chan error, 1)
	go func() {
		_, err := dan.send(ctx, http.MethodPost, "/v1/chat", asks(60, 300))
		ended <- err
	}()
	await(t, "the estimate is reserved", func() bool { return s.spent(t, dan) == 60+300 })
	cut()
	equal(t, "the client hangs up", errors.Is(<-ended, context.Canceled), true)
	a := dan.ask(t, 60, 300)
	equal(t, "the retry is a duplicate", [2]any{a.outcome(), a.body.Duplicate}, [2]any{"200", true})
	equal(t, "... with the whole answer", a.body.Tokens, 60+125)
	await(t, "what the answer cost is settled, once", func() bool { return s.spent(t, dan) == 60+125 })
}

func budget(t *testing.T, s *service) {
	eli := s.newClient(t, "192.0.2.14")
	slow, long := *eli, eli
	first := make(chan answer, 1)
	go func() { first <- slow.ask(t, 100, 1000) }()
	await(t, "1100 tokens are reserved", func() bool { return s.spent(t, eli) == 1100 })
	long.renew(t)
	a := long.ask(t, 1, 1000)
	equal(t, "1001 more do not fit 2000", a.outcome(), "429 cost_exceeded")
	equal(t, "... which the budget says", slices.Equal(a.violated, []string{"tokens"}), true)
	a = <-first
	equal(t, "the answer cost 305", [3]any{a.outcome(), a.body.Tokens, a.body.TokensLeft}, [3]any{"200", int64(305), int64(1695)})
	a = long.ask(t, 1, 1000)
	equal(t, "now they fit, and the challenge is still good", a.outcome(), "200")
	equal(t, "... and were 8", a.body.TokensLeft, 1687)
	eli.renew(t)
	equal(t, "a long question", eli.ask(t, 1600, 1).body.TokensLeft, 86)
	eli.renew(t)
	a = eli.ask(t, 1, 100)
	equal(t, "an answer of 100 tokens", a.outcome(), "429 cost_exceeded")
	equal(t, "... has to wait for the hour to pass", a.retryAfter > 3000 && a.retryAfter <= 3660, true)
	equal(t, "one of 80 has not", eli.ask(t, 1, 80).outcome(), "200")
}

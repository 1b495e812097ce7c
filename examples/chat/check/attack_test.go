package check

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// oneAddress sends 10 questions of each of 7 devices from one address, which has 60 a minute. Their challenges come from other addresses.
func oneAddress(t *testing.T, s *service) {
	var all []client
	for i := range 7 {
		one := s.newClient(t, fmt.Sprintf("192.0.2.%d", 60+i))
		for range 10 {
			one.renew(t)
			all = append(all, client{service: s, address: "192.0.2.70", fingerprint: one.fingerprint})
		}
	}
	began := time.Now()
	passed := count(len(all), func(i int) answer { return all[i].ask(t, 1, 10) })["200"]
	more := int(time.Since(began)/time.Second) + 1 // which the address gains meanwhile
	equal(t, fmt.Sprintf("%d of 70 passed, which is 60 and at most %d", passed, more), passed >= 60 && passed <= 60+more, true)
}

// oneFingerprint sends a signed fingerprint 1,000 times at once: each time with another question, from another address, and after
// a forged fingerprint. guard charges one request, whose answer two repeats get, too. It refuses all others, because their challenge is
// consumed, and the fifth refusal starts a ban.
func oneFingerprint(t *testing.T, s *service) {
	old := s.newClient(t, "192.0.2.17")
	equal(t, "a question", old.ask(t, 1, 10).outcome(), "200")

	mal := s.newClient(t, "192.0.2.16")
	var mu sync.Mutex
	answers := map[string]int{}
	got := count(1000, func(i int) answer {
		one := *mal
		one.address = fmt.Sprintf("198.51.%d.%d", i/250, i%250)
		body := fmt.Sprintf(`{"message": "why %d", "max_tokens": 10}`, i)
		a := one.must(t, http.MethodPost, "/v1/chat", body, "X-Fingerprint", fmt.Sprintf("fp:c%d:d%d", i, i))
		if a.status == http.StatusOK {
			mu.Lock()
			defer mu.Unlock()
			answers[a.body.Answer]++
		}
		return a
	})
	equal(t, "outcomes", got, map[string]int{
		"200": 3, "duplicate": 2, "403 challenge_invalid": 4, "429 too_many_attempts": 1, "429 blocked": 992,
	})
	equal(t, "answers of the model", len(answers), 1)
	await(t, "spent once", func() bool { return s.spent(t, mal) == 2+9 })
	equal(t, "the ban holds at the chat, and not where a challenge is renewed", mal.renew(t).outcome(), "200")

	shipped := s.shipped(t)
	s.reload(t, strings.NewReplacer("for: 30s", "for: 1ms", "rate: 30/1m", "rate: 201/1m").Replace(shipped), `"models";q=201`)
	equal(t, "once the idempotency has ended, a challenge is used", old.ask(t, 1, 10).outcome(), "403 challenge_invalid")
	s.reload(t, shipped, `"models";q=30`)
}

// madeUp sends unsigned fingerprints, one many times and many once. They count for the address, and its other devices are not affected.
func madeUp(t *testing.T, s *service) {
	for i, value := range []func(i int) string{
		func(int) string { return "fp:a:b" },
		func(i int) string { return fmt.Sprintf("fp:a%d:b%d", i, i) },
	} {
		neighbour := s.newClient(t, fmt.Sprintf("192.0.2.%d", 50+i))
		asks := func(method, path string) map[string]int {
			return count(100, func(i int) answer {
				one := client{service: s, address: neighbour.address, fingerprint: value(i)}
				return one.must(t, method, path, `{"message": "why"}`)
			})
		}
		name := value(0)
		equal(t, name+": POST /v1/chat", asks(http.MethodPost, "/v1/chat"), map[string]int{"403 challenge_required": 100})
		equal(t, name+": POST /v1/challenge, beside the neighbour's", asks(http.MethodPost, "/v1/challenge"), map[string]int{"200": 19, "429 rate_limited": 81})
		equal(t, name+": GET /v1/models", asks(http.MethodGet, "/v1/models"), map[string]int{"200": 30, "429 rate_limited": 70})
		equal(t, "a neighbour's question", neighbour.ask(t, 1, 10).outcome(), "200")
	}
}

// hangUps sends each fingerprint twice at once and cancels one request at some time. Every answer is charged.
func hangUps(t *testing.T, s *service) {
	const devices, rounds = 6, 8
	var all [devices]*client
	for i := range all {
		all[i] = s.newClient(t, fmt.Sprintf("192.0.2.%d", 80+i))
		for round := range rounds {
			all[i].renew(t)
			ctx, cut := context.WithTimeout(t.Context(), time.Duration(100+50*(i+devices*round))*time.Microsecond)
			var other sync.WaitGroup
			other.Go(func() { _, _ = all[i].send(ctx, http.MethodPost, "/v1/chat", asks(1, 10)) })
			if a := all[i].ask(t, 1, 10); a.body.Tokens != 1+7 {
				t.Errorf("device %d, round %d: %+v", i, round, a)
			}
			other.Wait()
			cut()
		}
	}
	await(t, "each device has paid for its answers", func() bool {
		return !slices.ContainsFunc(all[:], func(c *client) bool { return s.spent(t, c) != rounds*(1+7) })
	})
}

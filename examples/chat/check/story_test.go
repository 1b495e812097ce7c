package check

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestChat is one story: its chapters share a service, and each has its own clients.
func TestChat(t *testing.T) {
	s := start(t)
	defer func() {
		if t.Failed() {
			t.Logf("the service wrote:\n%s", s.log)
		}
	}()
	for _, chapter := range []struct {
		name string
		tell func(*testing.T, *service)
	}{
		{"it starts without Redis", startsWithoutRedis},
		{"three at once with one challenge", oneChallenge},
		{"50 at once with 50 challenges", fiftyChallenges},
		{"a double click", doubleClick},
		{"a retry after a cut connection", cutConnection},
		{"one of two requests hangs up", hangUps},
		{"the budget", budget},
		{"a forged fingerprint", forged},
		{"neighbours in IPv6", neighbours},
		{"the second ban is longer", secondBan},
		{"many devices behind one address", oneAddress},
		{"one fingerprint, 1,000 times at once", oneFingerprint},
		{"made-up fingerprints", madeUp},
		{"a global limit, in a new policy", global},
		{"Redis is stopped, and comes back", redisStops},
		{"it shuts down gracefully", shutsDown},
	} {
		if !t.Run(chapter.name, func(t *testing.T) { chapter.tell(t, s) }) {
			return // what follows builds on it
		}
	}
}

func startsWithoutRedis(t *testing.T, s *service) {
	zed := &client{service: s, address: "192.0.2.1"}
	equal(t, "says so", strings.Contains(s.log.String(), `msg="starting without Redis"`), true)
	equal(t, "GET /healthz", zed.must(t, http.MethodGet, "/healthz", "").body.Redis, "down")
	a := zed.renew(t)
	equal(t, "POST /v1/challenge", a.outcome(), "503 limiter_unavailable")
	equal(t, "... with Retry-After", a.retryAfter, 1)
	equal(t, "GET /", zed.must(t, http.MethodGet, "/", "").outcome(), "200")
	s.redis.Restart(t)
	await(t, "it finds Redis by itself", func() bool { return zed.renew(t).status == http.StatusOK })
}

func oneChallenge(t *testing.T, s *service) {
	ann := s.newClient(t, "192.0.2.10")
	first := *ann
	equal(t, "outcomes", count(3, func(int) answer { return first.ask(t, 3, 10) }), map[string]int{"200": 3, "duplicate": 2})
	await(t, "spent once, as settled", func() bool { return s.spent(t, ann) == 3+10 })
	ann.renew(t)
	a := ann.ask(t, 3, 10)
	equal(t, "the next request, with a challenge of its own", a.outcome(), "200")
	equal(t, "counted so far", limitLeft(t, a, "minute"), 10-2)
	ann.renew(t)
	equal(t, "the first challenge again, in another request", ann.ask(t, 3, 10, "X-Challenge", first.challenge).outcome(), "403 challenge_invalid")
	equal(t, "it costs nothing", s.spent(t, ann), 2*(3+10))
}

// bea is refused here, and again in the chapter of bans.
var bea *client

func fiftyChallenges(t *testing.T, s *service) {
	bea = s.newClient(t, "192.0.2.11")
	var all [50]client
	for i := range all {
		bea.renew(t)
		all[i] = *bea
	}
	bea.renew(t) // for later
	// The minute allows 10. Each refusal is an attempt: the fifth starts a ban of 5 s, which refuses the rest.
	got := count(50, func(i int) answer {
		a := all[i].ask(t, 1, 10)
		if a.code == "blocked" && (a.retryAfter < 1 || a.retryAfter > 5) {
			t.Errorf("the first ban has Retry-After: %d", a.retryAfter)
		}
		return a
	})
	want := map[string]int{"200": 10, "429 rate_limited": 4, "429 too_many_attempts": 1, "429 blocked": 35}
	equal(t, "outcomes", got, want)
	equal(t, "spent by those that passed", s.spent(t, bea), 10*(1+7))
}

func doubleClick(t *testing.T, s *service) {
	cid := s.newClient(t, "192.0.2.12")
	equal(t, "outcomes", count(2, func(int) answer { return cid.ask(t, 2, 20) }), map[string]int{"200": 2, "duplicate": 1})
	equal(t, "spent once", s.spent(t, cid), 2+9)
	a := cid.ask(t, 2, 20)
	equal(t, "a third click is a duplicate", a.body.Duplicate, true)
	equal(t, "counted once", limitLeft(t, a, "minute"), 9)
}

func forged(t *testing.T, s *service) {
	eve := s.newClient(t, "192.0.2.15")
	before := eve.challenge
	eve.fingerprint = strings.Replace(eve.fingerprint, eve.hash(), "another-device", 1)
	equal(t, "a fingerprint that the service has not signed", eve.ask(t, 1, 10).outcome(), "403 challenge_required")
	equal(t, "... with the device's challenge", eve.ask(t, 1, 10, "X-Challenge", before).outcome(), "403 challenge_required")
}

func neighbours(t *testing.T, s *service) {
	from := func(prefix string) func(i int) answer {
		return func(i int) answer {
			return (&client{service: s, address: fmt.Sprintf("%s::%x", prefix, i+1)}).renew(t)
		}
	}
	equal(t, "40 addresses of one /64", count(40, from("2001:db8:0:1")), map[string]int{"200": 20, "429 rate_limited": 20})
	equal(t, "a house further", count(1, from("2001:db8:0:2")), map[string]int{"200": 1})
}

func secondBan(t *testing.T, s *service) {
	var a answer
	await(t, "the first ban ends", func() bool { a = bea.ask(t, 1, 10); return a.code != "blocked" })
	equal(t, "the minute is still used up", a.outcome(), "429 rate_limited")
	for range 3 {
		a = bea.ask(t, 1, 10)
	}
	equal(t, "the fourth refusal", a.outcome(), "429 rate_limited")
	a = bea.ask(t, 1, 10)
	equal(t, "the fifth", a.outcome(), "429 too_many_attempts")
	equal(t, "the second ban", a.retryAfter, 120)
	a = bea.ask(t, 1, 10)
	equal(t, "one more", a.outcome(), "429 blocked")
	equal(t, "... with the rest of the ban", a.retryAfter > 100 && a.retryAfter <= 120, true)
	equal(t, "another client at the same address", s.newClient(t, bea.address).ask(t, 1, 10).outcome(), "200")
}

func global(t *testing.T, s *service) {
	shipped := s.shipped(t)
	narrow := strings.NewReplacer(
		"kind: gcra, rate: 100/1s", "kind: sliding_log, rate: 3/1h",
		"rate: 30/1m", "rate: 200/1m").Replace(shipped)
	s.reload(t, narrow, `"models";q=200`)
	var four [4]*client
	for i := range four {
		four[i] = s.newClient(t, fmt.Sprintf("192.0.2.%d", 30+i))
	}
	equal(t, "four clients", count(4, func(i int) answer { return four[i].ask(t, 1, 10) }), map[string]int{"200": 3, "429 rate_limited": 1})
	a := four[0].ask(t, 1, 10)
	equal(t, "a global limit is not in the response", [2]any{a.outcome(), len(a.violated)}, [2]any{"429 rate_limited", 0})

	if err := os.WriteFile(s.policy, []byte("version: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, "an invalid policy is logged", func() bool { return strings.Contains(s.log.String(), "policy not replaced") })
	equal(t, "... and the old one stays in use", four[1].ask(t, 1, 10).outcome(), "429 rate_limited")
	s.reload(t, shipped, `"models";q=30`)
	equal(t, "all four again", count(4, func(i int) answer { return four[i].ask(t, 1, 10) })["200"], 4)
}

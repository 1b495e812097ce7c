package steps_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

// Mistake 5: identities split at colons. Two IPv6 addresses that end alike, and what is behind their last colon, are three
// subjects to every library.
func TestMistake05_identitiesSplitAtColonsInEveryLibrary(t *testing.T) {
	ends := []fcall.Subject{"2001:db8::1:7334", "2002:db9::2:7334", "7334"}
	limiters.Each(t, func(t *testing.T, _ *luatest.Server, c *ratelimit.Client) {
		for _, subject := range ends {
			if r, err := c.Check(t.Context(), checkParams{Subject: subject, Limits: suites.CheckLimits(1), Receipt: "r"}.Packed()); err != nil || !r.Allowed || r.Duplicate {
				t.Errorf("the first check of %s: %+v %v", subject, r, err)
			}
		}
	})
	abusers.Each(t, func(t *testing.T, _ *luatest.Server, c *abuse.Client) {
		for _, subject := range ends {
			r, err := c.Attempt(t.Context(), attemptParams{Subject: subject, Tiers: []attemptTier{{Threshold: 2, Window: time.Minute, Block: time.Minute}}})
			if err != nil || !r.Allowed {
				t.Errorf("the first attempt of %s: %+v %v", subject, r, err)
			}
		}
	})
	challenges.Each(t, func(t *testing.T, _ *luatest.Server, c *challenge.Client) {
		if _, err := c.Issue(t.Context(), issueParams{Subject: ends[0], Token: "t", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		for _, subject := range ends[1:] {
			r, err := c.Consume(t.Context(), challenge.ConsumeParams{Subject: subject, Token: "t"})
			if err != nil || r == consumed {
				t.Errorf("%s consumes the challenge of %s: %+v %v", subject, ends[0], r, err)
			}
		}
	})
}

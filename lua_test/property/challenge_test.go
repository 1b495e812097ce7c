package property_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/lua_test/internal/model"
	"github.com/rlfunc/rlfunc/lua_test/internal/suites"
)

type challengeCall = call[*challenge.Client, *model.Challenge]

var challengeFamily = family[*challenge.Client, *model.Challenge]{
	name:      "challenge",
	suite:     suites.Challenges,
	model:     model.NewChallenge,
	keys:      []storedKey{{"challenges", "hash"}},
	draw:      drawChallenge,
	invariant: challengeInvariant,
}

func drawChallenge(t *rapid.T) plan[*challenge.Client, *model.Challenge] {
	spans := []time.Duration{time.Millisecond, time.Second, 10 * time.Second, time.Minute, time.Hour}
	span := rapid.SampledFrom(spans)
	most := rapid.SampledFrom([]int64{0, 1, 1, 2, 2, 3, 64})
	token := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f", "g", "h"})
	payload := rapid.SampledFrom([]string{"", "", "login", "pay"})
	return plan[*challenge.Client, *model.Challenge]{spans: spans, call: func(t *rapid.T) challengeCall {
		subject := fcall.Subject(rapid.SampledFrom(subjects).Draw(t, "subject"))
		switch rapid.IntRange(0, 9).Draw(t, "function") {
		default:
			return issueOne(issueParams{
				Subject: subject, Token: token.Draw(t, "token"), TTL: span.Draw(t, "ttl"), Payload: payload.Draw(t, "payload"),
				ReuseWithin: rapid.SampledFrom(append([]time.Duration{0, 0, 0}, spans...)).Draw(t, "reuse_within"), MaxOutstanding: most.Draw(t, "max_outstanding"),
			})
		case 5, 6, 7:
			p := challenge.ConsumeParams{Subject: subject, Token: token.Draw(t, "token"), Payload: payload.Draw(t, "payload")}
			return made("consume", subject, p, (*challenge.Client).QueueConsume, (*model.Challenge).Consume)
		case 8, 9:
			return made("peek", subject, challenge.PeekParams{Subject: subject, Token: token.Draw(t, "token")}, (*challenge.Client).QueuePeek, (*model.Challenge).Peek)
		}
	}}
}

func issueOne(p issueParams) challengeCall {
	return made("issue", p.Subject, p, (*challenge.Client).QueueIssue, (*model.Challenge).Issue)
}

// challengeInvariant holds that a challenge is consumed once for each time that it was issued.
func challengeInvariant() func(time.Time, string, any, any) string {
	open := map[string]bool{}
	return func(_ time.Time, subject string, params, reply any) string {
		switch r := reply.(type) {
		case issueResult:
			if !r.Reused {
				open[subject+" "+r.Token] = true
			}
		case challenge.ConsumeResult:
			name := subject + " " + params.(challenge.ConsumeParams).Token
			if r == consumed && !open[name] {
				return fmt.Sprintf("%s was consumed twice", name)
			}
			if r == consumed {
				delete(open, name)
			}
		}
		return ""
	}
}

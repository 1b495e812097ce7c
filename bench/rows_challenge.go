package main

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
)

const consumeGoal = 6

// Tokens as fcall.NewToken makes them.
const (
	token      = "q3h5rT0cXkW1nYvZb7J2mA"
	otherToken = "A2mJ7bZvYn1WkXc0Tr5h3q"
)

func issue(p challenge.IssueParams) command {
	return of(challenge.New, (*challenge.Client).Issue, func(s fcall.Subject) challenge.IssueParams {
		p.Subject, p.TTL = s, 5*time.Minute
		return p
	})
}

func consume(token, payload string) command {
	return of(challenge.New, (*challenge.Client).Consume, func(s fcall.Subject) challenge.ConsumeParams {
		return challenge.ConsumeParams{Subject: s, Token: token, Payload: payload}
	})
}

func challengeWorkloads() []workload {
	const payload = "POST /transfer"
	issued := issue(challenge.IssueParams{Token: token})
	bound := issue(challenge.IssueParams{Token: token, Payload: payload})
	const (
		consumed = "{Outcome:consumed"
		replayed = "{Outcome:replayed"
		unknown  = "{Outcome:expired_or_unknown"
		mismatch = "{Outcome:mismatch"
	)
	return []workload{
		{name: "challenge.consume consumed", prepare: after(issued), call: consume(token, ""), expect: consumed, most: consumeGoal},
		{name: "challenge.consume consumed, with a payload", prepare: after(bound), call: consume(token, payload), expect: consumed, most: consumeGoal},
		{name: "challenge.consume replayed", prepare: after(issued, consume(token, "")), call: consume(token, ""), expect: replayed, most: consumeGoal},
		{name: "challenge.consume expired_or_unknown", prepare: after(issued), call: consume(otherToken, ""), expect: unknown, most: consumeGoal},
		{name: "challenge.consume mismatch", prepare: after(bound), call: consume(token, "POST /login"), expect: mismatch, most: consumeGoal},
	}
}

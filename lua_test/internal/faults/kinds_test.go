package faults

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A service holds the generated clients of one caller.
type service struct {
	traffic   *traffic
	mode      mode
	answered  int // calls; guarded by the traffic's lock
	client    redis.UniversalClient
	ratelimit *ratelimit.Client
	cost      *cost.Client
	abuse     *abuse.Client
	challenge *challenge.Client
}

func newService(t *testing.T, tr *traffic, client redis.UniversalClient, m mode, o fcall.Options) *service {
	t.Helper()
	s := &service{traffic: tr, mode: m, client: client}
	o.NoSharing = m == unshared
	var errs [4]error
	s.ratelimit, errs[0] = ratelimit.New(client, o)
	s.cost, errs[1] = cost.New(client, o)
	s.abuse, errs[2] = abuse.New(client, o)
	s.challenge, errs[3] = challenge.New(client, o)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// A kind is one limiter that the traffic calls.
type kind struct {
	name  string
	limit int64
	exact bool // it refuses only when the limit is used up
	step  func(s *service, k *kind, subject string)
	held  func(ctx context.Context, s *service, subject string) (int64, error) // what the server counts as admitted; may be nil
}

var (
	budgets    = &kind{name: "micros", limit: 1000, step: spend, held: spent}
	challenges = &kind{name: "challenges", limit: 1, step: consume}
)

var kinds = []*kind{
	{name: "sliding_log", limit: 10, exact: true, step: logOnce, held: logHeld},
	{name: "sliding_log with receipts", limit: 10, exact: true, step: logReceipt, held: logReceiptHeld},
	{name: "gcra", limit: 10, exact: true, step: gcraOnce, held: gcraHeld},
	budgets,
	{name: "attempts", limit: 4, exact: true, step: attempt},
	challenges,
}

func (s *service) step(i int, subject string) { kinds[i].step(s, kinds[i], subject) }

// single books a call that admits one and is made once.
func (s *service) single(k *kind, subject string, call func(context.Context) (allowed bool, err error)) {
	var allowed bool
	out := s.call(func(ctx context.Context) (err error) {
		allowed, err = call(ctx)
		return err
	})
	switch {
	case out == unknown:
		s.traffic.book(k, subject, 0, 1, false)
	case out == answered && allowed:
		s.traffic.book(k, subject, 1, 0, false)
	case out == answered:
		s.traffic.book(k, subject, 0, 0, true)
	}
}

func logOnce(s *service, k *kind, subject string) {
	s.single(k, subject, func(ctx context.Context) (bool, error) {
		r, err := ask(ctx, s, ratelimit.SlidingLogParams{Subject: fcall.Subject(subject), Limit: k.limit, Window: window}, s.ratelimit.SlidingLog, s.ratelimit.QueueSlidingLog)
		return r.Allowed, err
	})
}

// logReceipt sends what may have run once more: the receipt is counted once. Only a function that failed half way may have counted
// without knowing the receipt.
func logReceipt(s *service, k *kind, subject string) {
	p := ratelimit.SlidingLogParams{Subject: fcall.Subject("receipts of " + subject), Limit: k.limit, Window: window, Receipt: fcall.NewToken()}
	allowed, out, halfway := s.twice(func(ctx context.Context) (bool, error) {
		r, err := ask(ctx, s, p, s.ratelimit.SlidingLog, s.ratelimit.QueueSlidingLog)
		return r.Allowed, err
	})
	switch {
	case out == unknown:
		s.traffic.book(k, subject, 0, max(1, halfway), false)
	case out == answered && allowed:
		s.traffic.book(k, subject, 1, halfway, false)
	case out == answered:
		s.traffic.book(k, subject, 0, halfway, true)
	}
}

// twice makes a call that has a receipt, and once more if its outcome is unknown. The outcome stays unknown if the second did not run.
// It also returns how many of the two failed half way.
func (s *service) twice(call func(context.Context) (bool, error)) (allowed bool, out outcome, halfway int64) {
	f := func(ctx context.Context) (err error) {
		allowed, err = call(ctx)
		if errors.Is(err, fcall.ErrScript) {
			halfway++
		}
		return err
	}
	if out = s.call(f); out == unknown && s.call(f) == answered {
		out = answered
	}
	return allowed, out, halfway
}

func gcraOnce(s *service, k *kind, subject string) {
	s.single(k, subject, func(ctx context.Context) (bool, error) {
		r, err := ask(ctx, s, ratelimit.GCRAParams{Subject: fcall.Subject(subject), Limit: k.limit, Period: 1000 * window}, s.ratelimit.GCRA, s.ratelimit.QueueGCRA)
		return r.Allowed, err
	})
}

func attempt(s *service, k *kind, subject string) {
	tiers := []abuse.AttemptTiers{{Threshold: k.limit + 1, Window: window, Block: window}}
	s.single(k, subject, func(ctx context.Context) (bool, error) {
		r, err := ask(ctx, s, abuse.AttemptParams{Subject: fcall.Subject(subject), Tiers: abuse.PackAttemptTiers(tiers...)}, s.abuse.Attempt, s.abuse.QueueAttempt)
		return r.Allowed, err
	})
}

const (
	estimate = 100
	actual   = 60
)

// spend reserves an estimate and settles with less.
func spend(s *service, k *kind, subject string) {
	bucket, receipt := fcall.Subject(subject), fcall.NewToken()
	limits := cost.PackBudget(cost.Budget{Budget: fcall.Micros(k.limit), Window: window})
	switch allowed, out, _ := s.twice(func(ctx context.Context) (bool, error) {
		r, err := ask(ctx, s, cost.ReserveParams{Subject: bucket, Receipt: receipt, Estimate: estimate, Budgets: limits}, s.cost.Reserve, s.cost.QueueReserve)
		return r.Allowed, err
	}); {
	case out == unknown:
		s.traffic.book(k, subject, 0, estimate, false)
		return
	case out == nothing:
		return
	case !allowed:
		s.traffic.book(k, subject, 0, 0, true)
		return
	}
	_, out, _ := s.twice(func(ctx context.Context) (bool, error) {
		_, err := ask(ctx, s, cost.SettleParams{Subject: bucket, Receipt: receipt, Actual: actual, Budgets: limits}, s.cost.Settle, s.cost.QueueSettle)
		return true, err
	})
	switch out {
	case answered:
		s.traffic.book(k, subject, actual, 0, false)
	case nothing:
		s.traffic.book(k, subject, estimate, 0, false)
	case unknown:
		s.traffic.book(k, subject, actual, estimate-actual, false)
	}
}

// consume issues a challenge that three callers try to consume at once. Its account is the token's.
func consume(s *service, k *kind, subject string) {
	p := challenge.IssueParams{Subject: fcall.Subject(subject), Token: fcall.NewToken(), TTL: window}
	if _, out, _ := s.twice(func(ctx context.Context) (bool, error) {
		_, err := ask(ctx, s, p, s.challenge.Issue, s.challenge.QueueIssue)
		return true, err
	}); out != answered {
		return
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			s.single(k, p.Token, func(ctx context.Context) (bool, error) {
				r, err := ask(ctx, s, challenge.ConsumeParams{Subject: p.Subject, Token: p.Token}, s.challenge.Consume, s.challenge.QueueConsume)
				return r.Outcome == challenge.ConsumeOutcomeConsumed, err
			})
		})
	}
	wg.Wait()
}

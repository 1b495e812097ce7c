package examples

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// The Go of docs/limiters.md is code of this file.
func TestLimiters_pageMatchesExamples(t *testing.T) {
	text, err := os.ReadFile("limiters_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := strings.ReplaceAll(string(text), "\n\t\t", "\n")
	var said []string
	printed := regexp.MustCompile(`(?m)fmt\.Println\(.*\) // (.*)$`)
	for _, block := range blocks(t, "../docs/limiters.md", "go") {
		if !strings.Contains(code, "\n"+block) {
			t.Errorf("no example of examples/limiters_test.go has this Go of docs/limiters.md:\n%s", block)
		}
		for _, line := range printed.FindAllStringSubmatch(block, -1) {
			said = append(said, strings.Split(line[1], ", then ")...)
		}
	}
	// The page's comments are the example's output.
	var wanted []string
	for _, example := range strings.Split(string(text), "// Output:\n")[1:] {
		for line := range strings.Lines(example) {
			output, ok := strings.CutPrefix(line, "\t// ")
			if !ok {
				break
			}
			wanted = append(wanted, strings.TrimSpace(output))
		}
	}
	if diff := cmp.Diff(wanted, said); diff != "" {
		t.Errorf("output of the examples, in the page's order (-examples +page):\n%s", diff)
	}
}

// now is the server's time in the examples.
var now = time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)

// run runs an example with a client of a library on an embedded server.
func run[C any](library *fcall.Library, client func(fcall.Caller, fcall.Options) (C, error), example func(context.Context, C) error) {
	ctx := context.Background()
	clock := embedded.NewManualClock(now)
	server := embedded.New(embedded.Options{Clock: clock})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	if err := rdb.FunctionLoad(ctx, library.Code).Err(); err != nil {
		panic(err)
	}
	c, err := client(server, fcall.Options{})
	if err == nil {
		err = example(ctx, c)
	}
	if err != nil {
		panic(err)
	}
}

func Example_slidingLog() {
	run(ratelimit.Library, ratelimit.New, func(ctx context.Context, limits *ratelimit.Client) error {
		answer, err := limits.SlidingLog(ctx, ratelimit.SlidingLogParams{
			Subject: "user42", Limit: 10, Window: time.Minute, Receipt: "request-7f3a",
		})
		if err != nil {
			return err // nobody decided; a refusal is not an error
		}
		fmt.Println(answer.Allowed, answer.Remaining) // true 9
		return nil
	})
	// Output:
	// true 9
}

func Example_gcra() {
	run(ratelimit.Library, ratelimit.New, func(ctx context.Context, limits *ratelimit.Client) error {
		// 100 per minute, so one token every 600 ms, and up to 20 at once. This request takes 15.
		take := ratelimit.GCRAParams{Subject: "key-9c1", Limit: 100, Period: time.Minute, Burst: 20, Cost: new(int64(15))}
		for range 2 {
			answer, err := limits.GCRA(ctx, take)
			if err != nil {
				return err
			}
			fmt.Println(answer.Allowed, answer.Remaining, answer.RetryAfter) // true 5 0s, then false 5 6s
		}
		return nil
	})
	// Output:
	// true 5 0s
	// false 5 6s
}

func Example_slidingCounter() {
	run(ratelimit.Library, ratelimit.New, func(ctx context.Context, limits *ratelimit.Client) error {
		answer, err := limits.SlidingCounter(ctx, ratelimit.SlidingCounterParams{
			Subject: "2001:db8::7", Limit: 100_000, Window: time.Hour,
		})
		if err != nil {
			return err
		}
		fmt.Println(answer.Allowed, answer.Remaining) // true 99999
		return nil
	})
	// Output:
	// true 99999
}

func Example_fixedWindow() {
	run(ratelimit.Library, ratelimit.New, func(ctx context.Context, limits *ratelimit.Client) error {
		answer, err := limits.FixedWindow(ctx, ratelimit.FixedWindowParams{
			Subject: "tenant7", Limit: 5000, Window: 24 * time.Hour, Cost: new(int64(3)),
		})
		if err != nil {
			return err
		}
		fmt.Println(answer.Allowed, answer.Remaining, answer.ResetAfter) // true 4997 24h0m0s
		return nil
	})
	// Output:
	// true 4997 24h0m0s
}

func Example_quota() {
	run(ratelimit.Library, ratelimit.New, func(ctx context.Context, limits *ratelimit.Client) error {
		month, err := calendar.New(calendar.Period{Every: calendar.Month, Zone: "Europe/Berlin"})
		if err != nil {
			return err
		}
		b := month.Around(now) // in a service, time.Now()
		answer, err := limits.Quota(ctx, ratelimit.QuotaParams{
			Subject: "tenant7", Limit: 100_000, Previous: b.Previous, Start: b.Start, Next: b.Next, After: b.After, Cost: new(int64(3)),
		})
		if err != nil {
			return err
		}
		fmt.Println(answer.Allowed, answer.Remaining) // true 99997
		return nil
	})
	// Output:
	// true 99997
}

func Example_check() {
	run(ratelimit.Library, ratelimit.New, func(ctx context.Context, limits *ratelimit.Client) error {
		// Pack the limits once, when your program starts.
		perUser := ratelimit.PackLimit(
			ratelimit.Limit{Name: "second", Kind: ratelimit.LimitKindGCRA, Limit: 2, Window: time.Second, Burst: 5},
			ratelimit.Limit{Name: "hour", Kind: ratelimit.LimitKindSlidingLog, Limit: 100, Window: time.Hour},
			ratelimit.Limit{Name: "day", Kind: ratelimit.LimitKindSlidingCounter, Limit: 1000, Window: 24 * time.Hour},
		)
		answer, err := limits.Check(ctx, ratelimit.CheckParams{Subject: "user42", Receipt: "request-7f3a", Limits: perUser})
		if err != nil {
			return err
		}
		fmt.Println(answer.Allowed, answer.Limits[0].Remaining, answer.Limits[1].Remaining, answer.Limits[2].Remaining) // true 4 99 999
		return nil
	})
	// Output:
	// true 4 99 999
}

func Example_cost() {
	run(cost.Library, cost.New, func(ctx context.Context, budgets *cost.Client) error {
		// 2 dollars per hour and 20 per day. The estimate is 30 cents, and the model's answer then costs 12.
		limits := cost.PackBudget(
			cost.Budget{Budget: 2_000_000, Window: time.Hour},
			cost.Budget{Budget: 20_000_000, Window: 24 * time.Hour},
		)
		reserved, err := budgets.Reserve(ctx, cost.ReserveParams{
			Subject: "tenant7", Receipt: "completion-55", Estimate: 300_000, Budgets: limits, Hold: 5 * time.Minute,
		})
		if err != nil || !reserved.Allowed {
			return err
		}
		fmt.Println(reserved.Budgets[0].Remaining) // 1.700000

		settled, err := budgets.Settle(ctx, cost.SettleParams{
			Subject: "tenant7", Receipt: "completion-55", Actual: 120_000, Budgets: limits,
		})
		if err != nil {
			return err
		}
		fmt.Println(settled.Outcome, settled.Budgets[0].Spent) // settled 0.120000
		return nil
	})
	// Output:
	// 1.700000
	// settled 0.120000
}

func Example_abuse() {
	run(abuse.Library, abuse.New, func(ctx context.Context, logins *abuse.Client) error {
		// The 5th failure in 10 minutes blocks for a minute, the next block lasts 15 minutes, and then a day.
		// The address is part of the subject, because by the account alone a stranger could lock the owner out.
		login := fcall.Subject("ip=203.0.113.7+account=user42")
		answer, err := logins.Attempt(ctx, abuse.AttemptParams{
			Subject:    login,
			Tiers:      abuse.PackAttemptTiers(abuse.AttemptTiers{Threshold: 5, Window: 10 * time.Minute, Block: time.Minute}),
			Escalation: abuse.PackAttemptEscalation(abuse.AttemptEscalation{Block: time.Minute}, abuse.AttemptEscalation{Block: 15 * time.Minute}, abuse.AttemptEscalation{Block: 24 * time.Hour}),
		})
		if err != nil || !answer.Allowed {
			return err // blocked for answer.RetryAfter
		}
		fmt.Println(answer.Tiers[0].Remaining) // 3

		// The password was right, so the failures before it are forgotten.
		_, err = logins.Forgive(ctx, abuse.ForgiveParams{Subject: login})
		return err
	})
	// Output:
	// 3
}

func Example_challenge() {
	run(challenge.Library, challenge.New, func(ctx context.Context, links *challenge.Client) error {
		issued, err := links.Issue(ctx, challenge.IssueParams{
			Subject: "user42", Token: fcall.NewToken(), TTL: 15 * time.Minute, Payload: "login", ReuseWithin: time.Minute,
		})
		if err != nil {
			return err
		}
		for range 2 { // of two clicks, one logs in
			answer, err := links.Consume(ctx, challenge.ConsumeParams{Subject: "user42", Token: issued.Token, Payload: "login"})
			if err != nil {
				return err
			}
			fmt.Println(answer.Outcome) // consumed, then replayed
		}
		return nil
	})
	// Output:
	// consumed
	// replayed
}

func Example_concurrency() {
	run(concurrency.Library, concurrency.New, func(ctx context.Context, places *concurrency.Client) error {
		take := concurrency.AcquireParams{Subject: "tenant7", Holder: "job-1", Limit: 2, Lease: 30 * time.Second}
		for _, take.Holder = range []string{"job-1", "job-2", "job-3"} {
			answer, err := places.Acquire(ctx, take)
			if err != nil {
				return err
			}
			fmt.Println(answer.Allowed, answer.Remaining, answer.RetryAfter) // true 1 0s, then true 0 0s, then false 0 30s
		}
		_, err := places.Release(ctx, concurrency.ReleaseParams{Subject: "tenant7", Holder: "job-1"})
		return err
	})
	// Output:
	// true 1 0s
	// true 0 0s
	// false 0 30s
}

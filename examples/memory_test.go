package examples

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/concurrency"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// libraries holds clients of libraries on one server.
type libraries struct {
	limits     *ratelimit.Client
	budgets    *cost.Client
	doors      *abuse.Client
	challenges *challenge.Client
	places     *concurrency.Client
}

// today is one time for all calls, so that they are in one period.
var today = time.Now()

// subjects are the rows of the page's table, by its first column.
var subjects = map[string]func(context.Context, libraries, int) error{
	"fixed_window, 10 taken": func(ctx context.Context, l libraries, _ int) error {
		_, err := l.limits.FixedWindow(ctx, ratelimit.FixedWindowParams{Subject: "user42", Limit: 1000, Window: time.Hour})
		return err
	},
	"quota, 10 taken": func(ctx context.Context, l libraries, _ int) error {
		_, err := l.limits.Quota(ctx, ratelimit.QuotaParams{
			Subject: "user42", Limit: 1000,
			Previous: today.Add(-48 * time.Hour), Start: today.Add(-24 * time.Hour), Next: today.Add(24 * time.Hour), After: today.Add(48 * time.Hour),
		})
		return err
	},
	"concurrency, 10 in use": func(ctx context.Context, l libraries, i int) error {
		_, err := l.places.Acquire(ctx, concurrency.AcquireParams{Subject: "user42", Holder: receipt(i), Limit: 10, Lease: time.Hour})
		return err
	},
	"sliding_counter, 10 taken": func(ctx context.Context, l libraries, _ int) error {
		_, err := l.limits.SlidingCounter(ctx, ratelimit.SlidingCounterParams{Subject: "user42", Limit: 1000, Window: time.Hour})
		return err
	},
	"gcra, 10 taken": func(ctx context.Context, l libraries, _ int) error {
		_, err := l.limits.GCRA(ctx, ratelimit.GCRAParams{Subject: "user42", Limit: 100, Period: time.Minute})
		return err
	},
	"sliding_log, 10 admissions": func(ctx context.Context, l libraries, _ int) error {
		_, err := l.limits.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: "user42", Limit: 1000, Window: time.Hour})
		return err
	},
	"sliding_log, 10 admissions with receipts": func(ctx context.Context, l libraries, i int) error {
		_, err := l.limits.SlidingLog(ctx, ratelimit.SlidingLogParams{Subject: "user42", Limit: 1000, Window: time.Hour, Receipt: receipt(i)})
		return err
	},
	"check of a sliding_log and a gcra, 10 requests with receipts": func(ctx context.Context, l libraries, i int) error {
		_, err := l.limits.Check(ctx, ratelimit.CheckParams{Subject: "user42", Receipt: receipt(i), Limits: ratelimit.PackLimit(
			ratelimit.Limit{Name: "hour", Kind: ratelimit.LimitKindSlidingLog, Limit: 1000, Window: time.Hour},
			ratelimit.Limit{Name: "burst", Kind: ratelimit.LimitKindGCRA, Limit: 100, Window: time.Minute},
		)})
		return err
	},
	"cost, 10 reservations": func(ctx context.Context, l libraries, i int) error {
		_, err := l.budgets.Reserve(ctx, cost.ReserveParams{
			Subject: "user42", Receipt: receipt(i), Estimate: 300_000, Budgets: cost.PackBudget(cost.Budget{Budget: 100_000_000, Window: time.Hour}),
		})
		return err
	},
	"abuse, blocked by the 10th attempt": func(ctx context.Context, l libraries, _ int) error {
		_, err := l.doors.Attempt(ctx, abuse.AttemptParams{
			Subject: "user42", Tiers: abuse.PackAttemptTiers(abuse.AttemptTiers{Threshold: 10, Window: time.Hour, Block: time.Hour}),
		})
		return err
	},
	"challenge, 10 outstanding": func(ctx context.Context, l libraries, _ int) error {
		_, err := l.challenges.Issue(ctx, challenge.IssueParams{Subject: "user42", Token: fcall.NewToken(), TTL: time.Hour})
		return err
	},
}

func receipt(i int) string { return fmt.Sprintf("request-%08d", i) }

// Operators size servers by the page, so no subject may take more memory than it says. Allocators differ by version.
func TestLimiters_takeNoMoreMemoryThanThePageSays(t *testing.T) {
	said := memoryTable(t)
	for name := range subjects {
		if said[name] == nil {
			t.Errorf("docs/limiters.md lacks the memory of %q", name)
		}
	}
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			for _, column := range []string{"Redis 7.0", "Redis 8.0", "Valkey 8.1"} {
				if !strings.HasPrefix(e.Version, column+".") {
					continue
				}
				rdb := e.Client(t)
				l := load(t, rdb)
				for name, call := range subjects {
					got := measure(t, rdb, func(i int) error { return call(t.Context(), l, i) })
					// Redis makes a value of a buffer that an earlier call of Lua left, which may be larger.
					got = min(got, measure(t, rdb, func(i int) error { return call(t.Context(), l, i) }))
					t.Logf("%s: %d bytes", name, got)
					if most, ok := said[name][column]; !ok || float64(got) > 1.1*float64(most) {
						t.Errorf("%s: %d bytes, the page says %d", name, got, most)
					}
				}
			}
		})
	}
}

// measure makes ten calls on an empty database, and returns the memory of its keys.
func measure(t *testing.T, rdb *redis.Client, call func(i int) error) (bytes int64) {
	t.Helper()
	if err := rdb.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := call(i); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		n, err := rdb.MemoryUsage(t.Context(), key, 0).Result()
		if err != nil {
			t.Fatal(err)
		}
		bytes += n
	}
	return bytes
}

func load(t *testing.T, rdb *redis.Client) (l libraries) {
	t.Helper()
	for _, library := range []*fcall.Library{ratelimit.Library, cost.Library, abuse.Library, challenge.Library, concurrency.Library} {
		if err := rdb.FunctionLoad(t.Context(), library.Code).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var errs [5]error
	l.limits, errs[0] = ratelimit.New(rdb, fcall.Options{})
	l.budgets, errs[1] = cost.New(rdb, fcall.Options{})
	l.doors, errs[2] = abuse.New(rdb, fcall.Options{})
	l.challenges, errs[3] = challenge.New(rdb, fcall.Options{})
	l.places, errs[4] = concurrency.New(rdb, fcall.Options{})
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// memoryTable reads the page's table: bytes by row and server.
func memoryTable(t *testing.T) map[string]map[string]int64 {
	t.Helper()
	text, err := os.ReadFile("../docs/limiters.md")
	if err != nil {
		t.Fatal(err)
	}
	var columns []string
	table := map[string]map[string]int64{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		switch {
		case cells[0] == "bytes of a subject":
			columns = cells
		case columns != nil && len(cells) == len(columns):
			row := map[string]int64{}
			for i, cell := range cells[1:] {
				if row[columns[i+1]], err = strconv.ParseInt(strings.ReplaceAll(cell, ",", ""), 10, 64); err != nil {
					t.Fatalf("docs/limiters.md: %s: %v", cells[0], err)
				}
			}
			table[cells[0]] = row
		case !strings.HasPrefix(line, "|"):
			columns = nil
		}
	}
	return table
}

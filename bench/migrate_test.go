package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"github.com/ulule/limiter/v3"
	redisstore "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// The Go of both pages of migration is in this file: each function prints what its example prints.

func withRedisRate(ctx context.Context, rdb *redis.Client) error {
	limiter := redis_rate.NewLimiter(rdb)
	res, err := limiter.AllowN(ctx, "user42", redis_rate.PerMinute(60), 40)
	if err != nil {
		return err
	}
	fmt.Println(res.Allowed > 0, res.Remaining)
	return nil
}

func withGCRA(ctx context.Context, rdb *redis.Client) error {
	limits, err := ratelimit.New(rdb, fcall.Options{Namespace: "rate"})
	if err != nil {
		return err
	}
	res, err := limits.GCRA(ctx, ratelimit.GCRAParams{
		Subject: "user42", Limit: 60, Period: time.Minute, Burst: 60, Cost: new(int64(40)),
	})
	if err != nil {
		return err
	}
	fmt.Println(res.Allowed, res.Remaining)
	return nil
}

// The pages' tables name these two.
func redisRateAtMost(ctx context.Context, rdb *redis.Client) error {
	res, err := redis_rate.NewLimiter(rdb).AllowAtMost(ctx, "user43", redis_rate.PerMinute(60), 40)
	if err != nil {
		return err
	}
	fmt.Println(res.Allowed > 0, res.Allowed, res.Remaining)
	return nil
}

func gcraAtMost(ctx context.Context, rdb *redis.Client) error {
	limits, err := ratelimit.New(rdb, fcall.Options{Namespace: "rate"})
	if err != nil {
		return err
	}
	res, err := limits.GCRA(ctx, ratelimit.GCRAParams{Subject: "user43", Limit: 60, Period: time.Minute, Burst: 60, Cost: new(int64(40)), AtMost: true})
	if err != nil {
		return err
	}
	fmt.Println(res.Allowed, res.Taken, res.Remaining)
	return nil
}

func withUlule(ctx context.Context, rdb *redis.Client) error {
	store, err := redisstore.NewStore(rdb)
	if err != nil {
		return err
	}
	hourly := limiter.New(store, limiter.Rate{Limit: 2, Period: time.Hour})
	state, err := hourly.Get(ctx, "user42")
	if err != nil {
		return err
	}
	fmt.Println(!state.Reached, state.Remaining)
	return nil
}

func withFixedWindow(ctx context.Context, rdb *redis.Client) error {
	limits, err := ratelimit.New(rdb, fcall.Options{Namespace: "limiter"})
	if err != nil {
		return err
	}
	state, err := limits.FixedWindow(ctx, ratelimit.FixedWindowParams{
		Subject: "user42", Limit: 2, Window: time.Hour,
	})
	if err != nil {
		return err
	}
	fmt.Println(state.Allowed, state.Remaining)
	return nil
}

// printed returns what the call prints n times in a row.
func printed(t *testing.T, rdb *redis.Client, n int, call func(context.Context, *redis.Client) error) string {
	t.Helper()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = out
	for range n {
		if err = call(t.Context(), rdb); err != nil {
			break
		}
	}
	os.Stdout = stdout
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Both sides of a page give the same answers, up to and beyond the limit.
func TestMigrations_answerTheSame(t *testing.T) {
	srv := realServer(t)
	type call = func(context.Context, *redis.Client) error
	for name, sides := range map[string][2]call{
		"redis_rate":          {withRedisRate, withGCRA},
		"redis_rate, at most": {redisRateAtMost, gcraAtMost},
		"ulule":               {withUlule, withFixedWindow},
	} {
		before, after := printed(t, srv.client, 4, sides[0]), printed(t, srv.client, 4, sides[1])
		if name == "redis_rate" {
			// A refusal of redis_rate reports 0 remaining; a refusal of gcra reports what is left.
			before = strings.ReplaceAll(before, "false 0", "false 20")
		}
		if diff := cmp.Diff(before, after); diff != "" || !strings.Contains(after, "true") || !strings.Contains(after, "false") {
			t.Errorf("%s: (-before +after):\n%s%s", name, diff, after)
		}
	}
}

func TestMigrations_pageShowsThisFile(t *testing.T) {
	text, err := os.ReadFile("migrate_test.go")
	if err != nil {
		t.Fatal(err)
	}
	code := strings.ReplaceAll(string(text), "\n\t", "\n")
	page, err := os.ReadFile("../docs/comparison.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 4 {
		t.Errorf("docs/comparison.md has %d blocks of Go, want 4", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(code, "\n"+block[1]) {
			t.Errorf("bench/migrate_test.go does not have this Go of docs/comparison.md:\n%s", block[1])
		}
	}
}

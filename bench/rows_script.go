package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// scriptWorkloads are functions of ours as a client runs them where a server has no Functions, beside the same by FCALL.
func scriptWorkloads(ctx context.Context, c *redis.Client, t tap) ([]workload, error) {
	client, err := ratelimit.New(c, fcall.Options{Mode: fcall.ModeScripts})
	if err != nil {
		return nil, fmt.Errorf("make a client of scripts: %w", err)
	}
	for range 2 { // the first one brings the text
		if _, err := client.GCRA(ctx, ratelimit.GCRAParams{Subject: "u", Limit: 100, Period: time.Hour}); err != nil {
			return nil, fmt.Errorf("call gcra as a script: %w", err)
		}
	}
	take := t.script("u", "ratelimit_v1_gcra")
	for range 2 {
		if _, err := client.FixedWindow(ctx, ratelimit.FixedWindowParams{Subject: "u", Limit: 100, Window: time.Hour}); err != nil {
			return nil, fmt.Errorf("call fixed_window as a script: %w", err)
		}
	}
	count := t.script("u", "ratelimit_v1_fixed_window")
	hundred := ratelimit.GCRAParams{Limit: 100, Period: time.Hour}
	return []workload{
		{name: "gcra 100/h allowed, by EVALSHA", rival: "gcra 100/h allowed", prepare: after(gcra(hundred, spent)), call: take, expect: atHalf},
		{name: "fixed_window allowed, by EVALSHA", rival: "fixed_window allowed", prepare: after(fixedWindow(100, 1)), call: count, expect: nextOf100},
	}, nil
}

// script is the last EVALSHA of a subject, for any other one; it answers as that function does.
func (t tap) script(of, function string) command {
	args := t["evalsha"]
	answers[args[1]] = func(reply []byte) string { return answers[function](reply) }
	return func(s fcall.Subject) []any { return forSubject(args, of, s) }
}

// forSubject is an EVALSHA of a subject for another one.
func forSubject(args []any, of string, s fcall.Subject) []any {
	own := append([]any(nil), args...)
	for i, key := range keys(own) {
		own[3+i] = strings.Replace(key, "{"+of+"}", "{"+string(s)+"}", 1)
	}
	return own
}

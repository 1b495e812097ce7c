package fcall_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

var (
	hitArgs  = []any{int64(10), int64(60_000_000), "", "", "0"}
	hitReply = []any{int64(1), int64(0), int64(3), int64(7), int64(0), int64(60_000_000)}
)

func slidingLogArgs(c *fcall.Client, fn *fcall.Function, limit int64) *fcall.Args {
	a := c.Args(fn, 2, 5)
	a.Key("user-12345", "log")
	a.Key("user-12345", "receipts")
	a.Int(limit)
	a.Duration(time.Minute)
	a.OptText("")
	a.OptDuration(0)
	a.Bool(false)
	return a
}

func BenchmarkArgs(b *testing.B) {
	c, _ := record(b, fcall.Options{})
	fn := countFunction("hit")
	b.ReportAllocs()
	for b.Loop() {
		slidingLogArgs(c, fn, 10)
	}
}

// BenchmarkCall measures a call without the server's time: encoding, sending, classifying and decoding.
func BenchmarkCall(b *testing.B) {
	c, err := fcall.NewClient(answer{hitReply}, countLibrary, fcall.Options{})
	if err != nil {
		b.Fatal(err)
	}
	fn := countFunction("hit")
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		r, err := slidingLogArgs(c, fn, 10).Call(ctx)
		if err != nil {
			b.Fatal(err)
		}
		_, _, _, _, _, _ = r.Bool("allowed"), r.Bool("duplicate"), r.Int("count"), r.Int("remaining"), r.Duration("retry_after"), r.Duration("reset_after")
		if err := r.Err(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBareCmd measures go-redis alone with the same command, the baseline of BenchmarkCall.
func BenchmarkBareCmd(b *testing.B) {
	caller := answer{hitReply}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		words := append([]any{"FCALL", "fcalltest_v1_hit", 2, "fcalltest:{user-12345}:log", "fcalltest:{user-12345}:receipts"}, hitArgs...)
		cmd := redis.NewCmd(ctx, words...)
		if err := caller.Process(ctx, cmd); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTag(b *testing.B) {
	for name, subject := range map[string]fcall.Subject{"plain": "user-12345", "folded": "2001:db8::1"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = fcall.Key("ratelimit", subject, "log")
			}
		})
	}
}

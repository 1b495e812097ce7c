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
	hitReply = []any{int64(-1 - 4*1), int64(3), int64(7), int64(0), int64(60_000_000)}
)

func slidingLogArgs(c *fcall.Client, fn *fcall.Function) *fcall.Args {
	a := c.Args(fn, 2, 5)
	a.Key("bucket", "user-12345", "log")
	a.Key("receipts", "user-12345", "receipts")
	a.Int("limit", 10, 1, 1_000_000)
	a.Duration("window", time.Minute, 1, maxDuration)
	a.OptText("receipt", "", 1, 256)
	a.OptDuration("dedup", 0, 1, maxDuration)
	a.Bool("refresh", false)
	return a
}

func BenchmarkArgs(b *testing.B) {
	c, _ := record(b, fcall.Options{})
	fn := countFunction("hit")
	b.ReportAllocs()
	for b.Loop() {
		if err := slidingLogArgs(c, fn).Err(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCall measures a call without the server's time: encoding, sending, classifying and decoding.
func BenchmarkCall(b *testing.B) {
	c, err := fcall.NewClient(answer{hitReply}, countLibrary, fcall.Options{})
	if err != nil {
		b.Fatal(err)
	}
	fn := countFunction("hit")
	fn.Results = []fcall.Result{{Values: 2}, {Values: 2}, {}, {}, {}, {}}
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		r, err := slidingLogArgs(c, fn).Call(ctx)
		if err != nil {
			b.Fatal(err)
		}
		_, _, _, _, _, _ = r.Bool("allowed"), r.Bool("duplicate"), r.Count("count"), r.Count("remaining"), r.Duration("retry_after"), r.Duration("reset_after")
		if err := r.Close(); err != nil {
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

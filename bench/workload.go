package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A workload is one kind of call whose cost at the server is measured.
type workload struct {
	name string
	// subjects is how many there are; Defaults to 10,000. A round calls once for each of them, or more often if they are
	// few.
	subjects int
	// prepare gives the commands that bring subject i into the state that the call meets, at the server's time now.
	prepare func(i int, now time.Time) [][]any
	// call gives the command that is measured.
	call func(i int) []any
	// expect is how each reply must begin, so that no other path is measured than the one that name tells.
	expect string
	// rival is the workload of another limiter that takes turns with this one; Defaults to none.
	rival string
	// most is the goal as a multiple of an empty call, share that as a part of what the rival costs; 0 is none.
	most, share float64
}

// subject names the i-th.
func subject(i int) fcall.Subject { return fcall.Subject(fmt.Sprintf("user%d", i)) }

// A recorder is a caller that keeps the command that a generated client makes of a call.
type recorder struct{ args []any }

var errRecorded = errors.New("recorded, not sent")

// Process implements fcall.Caller.
func (r *recorder) Process(_ context.Context, cmd redis.Cmder) error {
	r.args = cmd.Args()
	return errRecorded
}

// record returns the command of one call.
func record(call func(context.Context, *ratelimit.Client) error) []any {
	r := &recorder{}
	client, err := ratelimit.New(r, fcall.Options{MaxAttempts: 1})
	if err == nil {
		err = call(context.Background(), client)
	}
	if r.args == nil {
		panic(fmt.Sprintf("record a call: %v", err)) // a workload below is wrong
	}
	return r.args
}

// replies: flat arrays whose first field is `allowed`.
const (
	allowed4   = "*4\r\n:1\r\n"
	refused4   = "*4\r\n:0\r\n"
	allowed5   = "*5\r\n:1\r\n"
	admitted6  = "*6\r\n:1\r\n:0\r\n"
	duplicate6 = "*6\r\n:1\r\n:1\r\n"
	refused6   = "*6\r\n:0\r\n"
)

func gcra(p ratelimit.GCRAParams) func(int) []any {
	return func(i int) []any {
		p.Bucket = subject(i)
		return record(func(ctx context.Context, c *ratelimit.Client) error { _, err := c.GCRA(ctx, p); return err })
	}
}

func slidingLog(p ratelimit.SlidingLogParams) func(int) []any {
	return func(i int) []any {
		p.Bucket = subject(i)
		return record(func(ctx context.Context, c *ratelimit.Client) error { _, err := c.SlidingLog(ctx, p); return err })
	}
}

// after prepares a subject by other calls.
func after(calls ...func(int) []any) func(int, time.Time) [][]any {
	return func(i int, _ time.Time) [][]any {
		commands := make([][]any, len(calls))
		for j, call := range calls {
			commands[j] = call(i)
		}
		return commands
	}
}

// logged prepares a log of n admissions in the last half of the window, and before them of so many that have left it.
func logged(n, expired int, window time.Duration) func(int, time.Time) [][]any {
	return func(i int, now time.Time) [][]any {
		key := fcall.Key(ratelimit.Library.Name, subject(i), "log")
		push := []any{"RPUSH", key}
		for e := range expired {
			push = append(push, now.Add(-window-time.Hour).UnixMicro()+int64(e))
		}
		step := window / 2 / time.Duration(max(n, 1))
		for e := range n {
			push = append(push, now.Add(-window/2+time.Duration(e)*step).UnixMicro())
		}
		return [][]any{push, {"PEXPIRE", key, window.Milliseconds()}}
	}
}

// empty is the call that all others are compared with: one key, no argument, and the reply 1.
func empty(i int) []any {
	return []any{"FCALL", "rlfunc_bench_empty", 1, fcall.Key("bench", subject(i), "empty")}
}

// bareWorkloads tell what of a call's cost is Redis's: the goals are multiples of a call with one key.
func bareWorkloads() []workload {
	noKey := func(int) []any { return []any{"FCALL", "rlfunc_bench_empty", 0} }
	full := func(i int) []any { return append(empty(i), 100, 60_000_000, "", "") }
	reply := func(i int) []any {
		return []any{"FCALL", "rlfunc_bench_reply", 1, fcall.Key("bench", subject(i), "empty"), 100, 60_000_000, "", ""}
	}
	return []workload{
		{name: "empty function, no key", call: noKey, expect: ":1\r\n"},
		{name: "empty function, gcra's arguments", call: full, expect: ":1\r\n"},
		{name: "the same with gcra's reply", call: reply, expect: "*4\r\n"},
	}
}

// workloads are the rows of the server's part, in order.
func workloads() []workload {
	all := append(bareWorkloads(), ratelimitWorkloads()...)
	for i := range all {
		if all[i].subjects == 0 {
			all[i].subjects = 10_000
		}
	}
	return all
}

func ratelimitWorkloads() []workload {
	var (
		hundred  = ratelimit.GCRAParams{Limit: 100, Period: time.Minute}
		micros   = ratelimit.GCRAParams{Limit: 128, Period: time.Minute} // an interval of 468,750 microseconds
		seven    = ratelimit.GCRAParams{Limit: 7, Period: time.Minute, Burst: 100}
		all, ten = int64(100), int64(10)
		drained  = hundred
		more     = hundred
		window   = time.Hour
		log      = ratelimit.SlidingLogParams{Limit: 20_000, Window: window}
		full     = ratelimit.SlidingLogParams{Limit: 100, Window: window}
		receipt  = log
	)
	drained.Cost, more.Cost = &all, &ten
	receipt.Receipt = "fp:5f0c7a1e:2f9be61dd1c84f0aa3a7"
	other := receipt
	other.Receipt = "fp:5f0c7a1e:00000000000000000000"
	peek := func(i int) []any {
		return record(func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.GCRAPeek(ctx, ratelimit.GCRAPeekParams{Bucket: subject(i), Limit: 100, Period: time.Minute})
			return err
		})
	}
	logPeek := func(i int) []any {
		return record(func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.SlidingLogPeek(ctx, ratelimit.SlidingLogPeekParams{Bucket: subject(i), Limit: 20_000, Window: window})
			return err
		})
	}
	return []workload{
		{name: "gcra 100/min allowed", rival: redisRate, prepare: after(gcra(hundred)), call: gcra(hundred), expect: allowed4, most: 7.5, share: 0.75},
		{name: "gcra 100/min allowed, first use", rival: redisRate, call: gcra(hundred), expect: allowed4, most: 7.5, share: 0.75},
		{name: "gcra 100/min refused", rival: redisRateRefused, prepare: after(gcra(drained)), call: gcra(more), expect: refused4, most: 7.5, share: 0.75},
		{name: "gcra 128/min allowed (whole us)", rival: redisRate, prepare: after(gcra(micros)), call: gcra(micros), expect: allowed4, most: 10},
		{name: "gcra 7/min allowed (fractions)", rival: redisRate, prepare: after(gcra(seven)), call: gcra(seven), expect: allowed4, most: 10},
		{name: "gcra_peek 100/min", prepare: after(gcra(hundred)), call: peek, expect: allowed4},
		{name: "sliding_log allowed, 10 in window", prepare: logged(10, 0, window), call: slidingLog(log), expect: admitted6, most: 13},
		{name: "sliding_log allowed, 100 in window", prepare: logged(100, 0, window), call: slidingLog(log), expect: admitted6, most: 13},
		{name: "sliding_log allowed, 1,000 in window", subjects: 1000, prepare: logged(1000, 0, window), call: slidingLog(log), expect: admitted6, most: 13},
		{name: "sliding_log allowed, 10,000 in window", subjects: 100, prepare: logged(10_000, 0, window), call: slidingLog(log), expect: admitted6, most: 13},
		{name: "sliding_log sliding, 1 of 100 expires", prepare: logged(99, 1, window), call: slidingLog(full), expect: admitted6, most: 13},
		{name: "sliding_log refused, 100 in window", prepare: logged(100, 0, window), call: slidingLog(full), expect: refused6, most: 13},
		{name: "sliding_log allowed, new receipt", prepare: after(slidingLog(other)), call: slidingLog(receipt), expect: admitted6},
		{name: "sliding_log duplicate receipt", prepare: after(slidingLog(receipt)), call: slidingLog(receipt), expect: duplicate6},
		{name: "sliding_log_peek, 100 in window", prepare: logged(100, 0, window), call: logPeek, expect: allowed5},
	}
}

// counter is the name under which commandstats counts a command.
func counter(command []any) string { return "cmdstat_" + strings.ToLower(fmt.Sprint(command[0])) }

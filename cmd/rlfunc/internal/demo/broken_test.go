package demo

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// A limiter with one defect fails the scenarios that test for it, and only those.
func TestRun_brokenLimiterFails(t *testing.T) {
	const slidingLog, gcra = "sliding_log", "gcra"
	for _, test := range []struct {
		name  string
		wrong tamper
		want  []string
	}{
		{
			name:  "one too many",
			wrong: tamper{function: slidingLog, args: func(a []any) { a[0] = plus(a[0], 1) }},
			want:  []string{"fifty_at_once", "retry_after"},
		},
		{
			name: "retry_after a microsecond late",
			wrong: tamper{function: slidingLog, reply: func(r []any) {
				if r[0] == int64(0) { // refused: retry_after is the last result
					r[5] = plus(r[5], 1)
				}
			}},
			want: []string{"retry_after"},
		},
		{
			name:  "receipts forgotten",
			wrong: tamper{function: slidingLog, keys: func(k []any) { k[len(k)-1] = fmt.Sprint(k[len(k)-1], rand.Int()) }},
			want:  []string{"double_click"},
		},
		{
			name:  "receipts cut short",
			wrong: tamper{function: slidingLog, keys: func(k []any) { k[len(k)-1] = strings.TrimRight(fmt.Sprint(k[len(k)-1]), "12") }},
			want:  []string{"double_click"},
		},
		{
			name:  "interval rounded up",
			wrong: tamper{function: gcra, args: func(a []any) { a[1] = plus(a[1], 3) }},
			want:  []string{"long_run"},
		},
		{name: "nothing", want: nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			v, err := virtual(&out, test.wrong).play(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var failed []string
			for _, s := range v.Scenarios {
				if !s.OK {
					failed = append(failed, s.Name)
				}
			}
			if diff := cmp.Diff(test.want, failed); diff != "" {
				t.Errorf("failed scenarios (-want +got):\n%s\n%s", diff, out.String())
			}
			verdict := "\nPASS: 4 of 4 "
			if len(test.want) > 0 {
				verdict = fmt.Sprintf("\nFAIL: %d of 4 ", 4-len(test.want))
			}
			if v.OK != (len(test.want) == 0) || !strings.Contains(out.String(), verdict) {
				t.Errorf("ok %t, and no %q in:\n%s", v.OK, verdict, out.String())
			}
		})
	}
}

func plus(number any, n int64) int64 {
	v, err := strconv.ParseInt(fmt.Sprint(number), 10, 64)
	if err != nil {
		panic(err)
	}
	return v + n
}

// A tamper simulates a defective limiter: it changes a function's keys, of which a receipt's is the last, its arguments and its reply.
type tamper struct {
	function string
	keys     func([]any)
	args     func([]any)
	reply    func([]any)
}

func (h tamper) before(cmd redis.Cmder) bool {
	call := cmd.Args()
	if h.function == "" || cmd.Name() != "fcall" || call[1] != "ratelimit_v1_"+h.function {
		return false
	}
	last := 3 + int(plus(call[2], 0))
	if h.keys != nil && last > 4 {
		h.keys(call[3:last])
	}
	if h.args != nil {
		h.args(call[last:])
	}
	return true
}

func (h tamper) after(cmd redis.Cmder) {
	if reply, ok := cmd.(interface{ Slice() ([]any, error) }); ok && h.reply != nil {
		if elements, err := reply.Slice(); err == nil {
			h.reply(elements)
		}
	}
}

func (tamper) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h tamper) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		mine := h.before(cmd)
		err := next(ctx, cmd)
		if mine {
			h.after(cmd)
		}
		return err
	}
}

func (tamper) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

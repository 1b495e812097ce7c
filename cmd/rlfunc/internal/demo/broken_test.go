package demo

import (
	"bytes"
	"context"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/functions"
)

// A limiter that is wrong in one way fails the scenarios that are about it, and only those.
func TestRun_brokenLimiterFails(t *testing.T) {
	const (
		slidingLog = "ratelimit/sliding_log.lua"
		windowLog  = "lib/window_log.lua"
		bucket     = "lib/token_bucket.lua"
	)
	for _, test := range []struct {
		name          string
		file, is, now string
		hook          redis.Hook
		want          []string
	}{
		{
			name: "one too many", file: windowLog, is: "if log.count < limit then", now: "if log.count <= limit then",
			want: []string{"fifty_at_once", "one_millisecond", "retry_after", "receipts_apart", "subjects_apart"},
		},
		{
			name: "retry_after a microsecond late", file: windowLog,
			is: "return entry_us + window_us - clock_us", now: "return entry_us + window_us - clock_us + 1",
			want: []string{"retry_after"},
		},
		{
			name: "receipts forgotten", file: slidingLog, is: "if seen_us and seen_us >", now: "if seen_us and limit < 0 and seen_us >",
			want: []string{"double_click"},
		},
		{
			name: "receipts alike", file: slidingLog, is: ", receipt)", now: ", string.sub(receipt, 1, 7))",
			want: []string{"receipts_apart"},
		},
		{
			name: "intervals cut to microseconds", file: bucket,
			is: "math.floor(parts / limit), parts % limit", now: "math.floor(parts / limit), 0",
			want: []string{"long_run"},
		},
		{name: "folded subjects share a key", hook: oneTag{}, want: []string{"subjects_apart"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			o := Options{Out: &out}
			if test.file != "" {
				o.Source = changed(t, test.file, test.is, test.now)
			}
			v, err := show(t.Context(), o, virtual(t, test.hook))
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
			if v.OK || !strings.Contains(out.String(), "\nFAIL: ") || strings.Contains(out.String(), "PASS") {
				t.Errorf("the verdict is not FAIL:\n%s", out.String())
			}
		})
	}
}

// changed is the source with another text in one file.
func changed(t *testing.T, file, is, now string) fs.FS {
	t.Helper()
	out := fstest.MapFS{}
	err := fs.WalkDir(functions.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(functions.FS, path)
		out[path] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	before := string(out[file].Data)
	after := strings.ReplaceAll(before, is, now)
	if after == before {
		t.Fatalf("%s has no %q any more", file, is)
	}
	out[file].Data = []byte(after)
	return out
}

// oneTag is a client that folds every subject that is not plain into the same one.
type oneTag struct{}

func (oneTag) DialHook(next redis.DialHook) redis.DialHook { return next }

func (oneTag) ProcessPipelineHook(p redis.ProcessPipelineHook) redis.ProcessPipelineHook { return p }

func (oneTag) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		for i, arg := range cmd.Args() {
			key, ok := arg.(string)
			if head, rest, folded := strings.Cut(key, "{~"); ok && folded {
				_, suffix, _ := strings.Cut(rest, "}")
				cmd.Args()[i] = head + "{~}" + suffix
			}
		}
		return next(ctx, cmd)
	}
}

// interrupt ends a context after some commands.
type interrupt struct {
	cancel context.CancelFunc
	after  int64
	seen   atomic.Int64
}

func (*interrupt) DialHook(next redis.DialHook) redis.DialHook { return next }

func (*interrupt) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *interrupt) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if h.seen.Add(1) == h.after {
			h.cancel()
		}
		return err
	}
}

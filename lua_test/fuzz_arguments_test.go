package luatest_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// A fuzzed function is called with raw arguments past its client, and its reply is then given to the client's decoder.
type fuzzed struct {
	name string
	keys []string // suffix and type of each: "log list"
	args []string // legal ones; their number is the function's
	// decode calls the function by a client whose server answers what it is told.
	decode func(ctx context.Context, c *ratelimit.Client) error
}

// fuzzedFunctions has every function of library ratelimit that is fuzzed.
var fuzzedFunctions = []fuzzed{
	{
		"sliding_log",
		[]string{"log list", "receipts zset"},
		[]string{"5", "1000000", "r1", "2000000", "1"},
		func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.SlidingLog(ctx, logParams{Bucket: "u1", Limit: 1, Window: 1})
			return err
		},
	},
	{
		"sliding_log_peek",
		[]string{"log list"},
		[]string{"5", "1000000"},
		func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.SlidingLogPeek(ctx, ratelimit.SlidingLogPeekParams{Bucket: "u1", Limit: 1, Window: 1})
			return err
		},
	},
	{
		"sliding_log_reset",
		[]string{"log list", "receipts zset"},
		nil,
		func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.SlidingLogReset(ctx, ratelimit.SlidingLogResetParams{Bucket: "u1"})
			return err
		},
	},
	{
		"gcra",
		[]string{"gcra string"},
		[]string{"7", "60000000", "10", "2"},
		func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.GCRA(ctx, gcraParams{Bucket: "u1", Limit: 1, Period: 1})
			return err
		},
	},
	{
		"gcra_peek",
		[]string{"gcra string"},
		[]string{"5", "1000000", "", ""},
		func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.GCRAPeek(ctx, ratelimit.GCRAPeekParams{Bucket: "u1", Limit: 1, Period: 1})
			return err
		},
	},
	{
		"gcra_reset",
		[]string{"gcra string"},
		nil,
		func(ctx context.Context, c *ratelimit.Client) error {
			_, err := c.GCRAReset(ctx, ratelimit.GCRAResetParams{Bucket: "u1"})
			return err
		},
	},
}

// strange are texts that a number or a name might be, and is not.
var strange = []string{
	"NaN", "nan", "-nan", "inf", "-inf", "1e309", "1e3", "0x10", "-0", "0", "-1", "1", "", " 1", "1 ", "\x00", "5\x00", "\xff\xfe",
	"a\r\nb", "9007199254740992", "9007199254740993", "315360000000000", "1000000", "1000001", "1.5", "007", "+5",
	strings.Repeat("9", 400), strings.Repeat("r", 256), strings.Repeat("r", 257), strings.Repeat("x", 70_000),
}

// canned answers every call with one reply.
type canned struct{ reply any }

func (c canned) Process(_ context.Context, cmd redis.Cmder) error {
	cmd.Args()
	cmd.(interface{ SetVal(any) }).SetVal(c.reply)
	return nil
}

// A fuzzServer is an embedded server with the library and a clock that stands.
type fuzzServer struct {
	*embedded.Server
	clock *embedded.ManualClock
}

func newFuzzServer(f *testing.F) fuzzServer {
	f.Helper()
	clock := embedded.NewManualClock(luatest.Start)
	s := fuzzServer{embedded.New(embedded.Options{Clock: clock}), clock}
	f.Cleanup(func() {
		if err := s.Close(); err != nil {
			f.Error(err)
		}
	})
	s.must(f, "FUNCTION", "LOAD", ratelimit.Library.Code)
	return s
}

func (s fuzzServer) do(args ...any) (any, error) {
	cmd := redis.NewCmd(context.Background(), args...)
	_ = s.Process(context.Background(), cmd)
	return cmd.Result()
}

func (s fuzzServer) must(t testing.TB, args ...any) any {
	t.Helper()
	reply, err := s.do(args...)
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("%v: %v", args[0], err)
	}
	return reply
}

// call calls a function and holds the reply against what may come: RLARG, RLSTATE, or what the client's decoder takes.
func (s fuzzServer) call(t *testing.T, fn fuzzed, keys []string, args []string) (err error) {
	t.Helper()
	words := []any{"FCALL", ratelimit.Library.ServerName + "_" + fn.name, len(keys)}
	for _, k := range keys {
		words = append(words, k)
	}
	for _, a := range args {
		words = append(words, a)
	}
	reply, err := s.do(words...)
	if err != nil {
		text := err.Error()
		if !strings.HasPrefix(text, "RLARG ") && !strings.HasPrefix(text, "RLSTATE ") {
			t.Fatalf("%s %q answers %q", fn.name, args, text)
		}
		if strings.ContainsAny(text, "\r\n\x00") || len(text) > 600 {
			t.Fatalf("%s %q answers with a text that is no line: %q", fn.name, args, text)
		}
		return err
	}
	client, err := ratelimit.New(canned{reply}, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := fn.decode(t.Context(), client); err != nil {
		t.Fatalf("%s %q answers %#v: %v", fn.name, args, reply, err)
	}
	return nil
}

func (fn fuzzed) fullKeys() (keys []string) {
	for _, k := range fn.keys {
		suffix, _, _ := strings.Cut(k, " ")
		keys = append(keys, key("u1", suffix))
	}
	return keys
}

// FuzzArguments calls any function with any arguments, as raw words. No reply is an error of Lua, a refused argument has
// written nothing, and no key stays without an expiry.
func FuzzArguments(f *testing.F) {
	for i, fn := range fuzzedFunctions {
		legal := append(append([]string{}, fn.args...), make([]string, 6)...)
		n := byte(len(fn.args))
		f.Add(byte(i), byte(len(fn.keys)), n, legal[0], legal[1], legal[2], legal[3], legal[4])
		for _, bad := range strange {
			for at := range fn.args {
				args := append([]string{}, legal...)
				args[at] = bad
				f.Add(byte(i), byte(len(fn.keys)), n, args[0], args[1], args[2], args[3], args[4])
			}
		}
		f.Add(byte(i), byte(0), n, legal[0], legal[1], legal[2], legal[3], legal[4])
		f.Add(byte(i), byte(3), n, legal[0], legal[1], legal[2], legal[3], legal[4])
		f.Add(byte(i), byte(len(fn.keys)), n+1, legal[0], legal[1], legal[2], legal[3], legal[4])
	}
	s := newFuzzServer(f)
	f.Fuzz(func(t *testing.T, which, keys, args byte, a0, a1, a2, a3, a4 string) {
		fn := fuzzedFunctions[int(which)%len(fuzzedFunctions)]
		all := []string{a0, a1, a2, a3, a4}
		s.must(t, "FLUSHDB")
		names := append(fn.fullKeys(), "x1", "x2", "x3")[:int(keys)%4]
		// Twice: the second call meets what the first one wrote.
		for range 2 {
			before := s.must(t, "DBSIZE")
			err := s.call(t, fn, names, all[:int(args)%6])
			if after := s.must(t, "DBSIZE"); err != nil && before != after {
				t.Fatalf("%s %q was refused (%v) and wrote", fn.name, all, err)
			}
		}
		s.checkExpiries(t)
	})
}

func (s fuzzServer) checkExpiries(t *testing.T) {
	t.Helper()
	for _, name := range s.must(t, "KEYS", "*").([]any) {
		if left := s.must(t, "PTTL", name); left.(int64) < 0 {
			t.Fatalf("%s has no expiry", name)
		}
	}
}

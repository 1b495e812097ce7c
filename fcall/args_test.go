package fcall_test

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A recorder is a Caller that keeps the last command and answers with an empty array.
type recorder struct{ words []any }

func (r *recorder) Process(_ context.Context, cmd redis.Cmder) error {
	r.words = nil
	for _, word := range cmd.Args() {
		if m, ok := word.(encoding.BinaryMarshaler); ok { // which go-redis asks when it writes the command
			text, _ := m.MarshalBinary()
			word = string(text)
		}
		r.words = append(r.words, word)
	}
	cmd.(interface{ SetVal(any) }).SetVal([]any{})
	return nil
}

func record(t testing.TB, o fcall.Options) (*fcall.Client, *recorder) {
	t.Helper()
	r := new(recorder)
	c, err := fcall.NewClient(r, countLibrary, o)
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

const maxDuration = 3_153_600_000_000_000

func ptr[T any](v T) *T { return &v }

func TestArgs_words(t *testing.T) {
	c, r := record(t, fcall.Options{Namespace: "ns"})
	a := c.Args(countFunction("look"), 3, 20)
	a.Key("bucket", "u1", "log")
	a.Key("receipts", "u1", "receipts")
	a.RowKey("state", "u1", "limit", "per minute")
	a.Int("limit", 10, 1, 1000)
	a.OptInt("burst", 0, 1, 1000)
	a.OptInt("burst", 7, 1, 1000)
	a.OptIntPtr("cost", nil, 0, 1000)
	a.OptIntPtr("cost", ptr(int64(0)), 0, 1000)
	a.Float("score", math.Copysign(0, -1), -1, 1)
	a.OptFloat("score", 0, 1, 2)
	a.OptFloatPtr("score", ptr(1e-7), 0, 1)
	a.OptFloatPtr("score", nil, 0, 1)
	a.OptBoolPtr("strict", ptr(false))
	a.OptBoolPtr("strict", nil)
	a.Int("price", 1_250_000, 0, fcall.MaxInt)
	a.OptInt("price", 0, 1, 10)
	a.OptIntPtr("price", ptr(int64(3)), 0, 10)
	a.Duration("window", time.Minute+time.Nanosecond, 1, maxDuration)
	a.OptDuration("dedup", 0, 1, maxDuration)
	a.OptDurationPtr("hold", ptr(time.Duration(0)), 0, maxDuration)
	a.OptDurationPtr("hold", nil, 0, maxDuration)
	a.Time("at", time.UnixMicro(1_700_000_000_000_001).Add(999), 0, fcall.MaxInt)
	a.OptTime("at", time.Time{}, 0, fcall.MaxInt)
	a.Bool("refresh", true)
	a.Bool("refresh", false)
	a.Text("name", "a\r\n{\x00", 1, 5)
	a.OptText("receipt", "", 1, 5)
	a.Enum("kind", "gcra", "log", "gcra")
	a.OptEnum("kind", "", "log")
	a.Rows("limits", 2, 1, 16)
	for i := range 2 {
		a.Row(i)
		a.Int("limit", int64(i+1), 1, 9)
	}
	a.EndRows()
	if _, err := a.Call(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []any{
		"FCALL_RO", "fcalltest_v1_look", "3", "ns:{u1}:log", "ns:{u1}:receipts",
		fcall.KeyOf("ns", "u1", "limit", "per minute"),
		int64(10), "", int64(7), "", int64(0), "0", "", "1e-07", "", "0", "", int64(1_250_000), "", int64(3), int64(60_000_001), "", int64(0), "",
		int64(1_700_000_000_000_001), "", "1", "0", "a\r\n{\x00", "", "gcra", "", int64(2), int64(1), int64(2),
	}
	if diff := cmp.Diff(want, r.words); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestArgs_namespaceDefaultsToTheLibrary(t *testing.T) {
	c, r := record(t, fcall.Options{})
	a := c.Args(countFunction("hit"), 1, 0)
	a.Key("bucket", "u1", "log")
	if _, err := a.Call(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"FCALL", "fcalltest_v1_hit", "1", "fcalltest:{u1}:log"}, r.words); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestArgs_outOfBounds(t *testing.T) {
	steps := []struct {
		name string
		add  func(a *fcall.Args)
		want string
	}{
		{"too small", func(a *fcall.Args) { a.Int("limit", 0, 1, 1_000_000) }, "limit must be a whole number from 1 to 1000000, got 0"},
		{"a float of NaN", func(a *fcall.Args) { a.Float("score", math.NaN(), -1, 1) }, "score must be a number from -1 to 1, got NaN"},
		{"a float out of bounds", func(a *fcall.Args) { a.OptFloat("score", -1.5, -1, 1) }, "score must be a number from -1 to 1, got -1.5"},
		{"too large", func(a *fcall.Args) { a.Int("limit", 1_000_001, 1, 1_000_000) }, "limit must be a whole number from 1 to 1000000, got 1000001"},
		{"negative", func(a *fcall.Args) { a.OptInt("burst", -1, 1, 9) }, "burst must be a whole number from 1 to 9, got -1"},
		{"above 2^53", func(a *fcall.Args) { a.Int("price", math.MaxInt64, 0, fcall.MaxInt) }, "price must be a whole number from 0 to 9007199254740992, got 9223372036854775807"},
		{"duration of zero", func(a *fcall.Args) { a.Duration("window", 0, 1, maxDuration) }, "window must be a duration from 1µs to 876000h0m0s, got 0s"},
		{"negative duration", func(a *fcall.Args) { a.OptDuration("dedup", -time.Nanosecond*1001, 0, maxDuration) }, "dedup must be a duration from 0s to 876000h0m0s, got -1.001µs"},
		{"duration above the most", func(a *fcall.Args) { a.Duration("window", math.MaxInt64, 1, maxDuration) }, "window must be a duration from 1µs to 876000h0m0s, got 2562047h47m16.854775807s"},
		{"bounds beyond a time.Duration", func(a *fcall.Args) { a.Duration("window", -1000, 0, math.MaxInt64) }, "window must be a duration from 0s to 9223372036854775807µs, got -1µs"},
		{"time before 1970", func(a *fcall.Args) { a.Time("at", time.Unix(-1, 0), 0, 1_000_000) }, "at must be a time from 1970-01-01T00:00:00Z to 1970-01-01T00:00:01Z, got 1969-12-31T23:59:59Z"},
		{"the zero time", func(a *fcall.Args) { a.Time("at", time.Time{}, 0, 1_000_000) }, "at must be a time from 1970-01-01T00:00:00Z to 1970-01-01T00:00:01Z, got 0001-01-01T00:00:00Z"},
		{"text too long", func(a *fcall.Args) { a.Text("receipt", strings.Repeat("x", 257), 1, 256) }, "receipt must be text of 1 to 256 bytes, got 257 bytes"},
		{"text empty", func(a *fcall.Args) { a.Text("receipt", "", 1, 256) }, "receipt must be text of 1 to 256 bytes, got 0 bytes"},
		{"unknown enum", func(a *fcall.Args) { a.Enum("kind", "x\r\n", "log", "gcra") }, `kind must be one of log, gcra, got "x\r\n"`},
		{"very long enum", func(a *fcall.Args) { a.OptEnum("kind", strings.Repeat("x", 100), "log") }, `kind must be one of log, got "` + strings.Repeat("x", 32) + `"... (100 bytes)`},
		{"no rows", func(a *fcall.Args) { a.Rows("limits", 0, 1, 16); a.EndRows() }, "limits must have 1 to 16 rows, got 0"},
		{"in a row", func(a *fcall.Args) {
			a.Rows("limits", 2, 1, 16)
			a.Row(1)
			a.Int("limit", 0, 1, 9)
			a.EndRows()
		}, "limits.1.limit must be a whole number from 1 to 9, got 0"},
		{"a key after an argument", func(a *fcall.Args) { a.Int("limit", 1, 1, 9); a.Key("late", "u1", "log") }, "late must come before every argument, as keys do, got an argument before it"},
		{"all at once", func(a *fcall.Args) { a.Int("limit", 0, 1, 9); a.Bool("b", true); a.Text("receipt", "", 1, 2) }, "limit must be a whole number from 1 to 9, got 0; receipt must be text of 1 to 2 bytes, got 0 bytes"},
	}
	for _, s := range steps {
		t.Run(s.name, func(t *testing.T) {
			c, r := record(t, fcall.Options{})
			a := c.Args(countFunction("hit"), 1, 1)
			a.Key("bucket", "u1", "log")
			s.add(a)
			_, err := a.Call(context.Background())
			if diff := cmp.Diff("fcalltest.hit: "+s.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var one *fcall.ArgumentError
			if !errors.Is(err, fcall.ErrArgument) || !errors.As(err, &one) {
				t.Errorf("%T is not an ErrArgument with an *ArgumentError", err)
			}
			if r.words != nil {
				t.Errorf("sent %v", r.words)
			}
			rdb := redis.NewClient(&redis.Options{Addr: noServer})
			defer rdb.Close()
			pipe := rdb.Pipeline()
			_, queueErr := a.Queue(context.Background(), pipe).Reply()
			if diff := cmp.Diff(fmt.Sprint(err), fmt.Sprint(queueErr)); diff != "" || pipe.Len() != 0 {
				t.Errorf("Queue added %d commands, error (-want +got)\n%s", pipe.Len(), diff)
			}
		})
	}
}

// All clients without a name would share one bucket.
func TestArgs_emptySubject(t *testing.T) {
	c, r := record(t, fcall.Options{})
	a := c.Args(countFunction("hit"), 3, 1)
	a.Key("bucket", "", "log")
	a.Key("receipts", "", "receipts")
	a.RowKey("state", "", "limit", "minute")
	a.Int("limit", 0, 1, 9)
	_, err := a.Call(context.Background())
	if diff := cmp.Diff("fcalltest.hit: bucket must not be empty; limit must be a whole number from 1 to 9, got 0", fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	rdb := redis.NewClient(&redis.Options{Addr: noServer})
	defer rdb.Close()
	pipe := rdb.Pipeline()
	if _, err := a.Queue(context.Background(), pipe).Reply(); !errors.Is(err, fcall.ErrArgument) || pipe.Len() != 0 || r.words != nil {
		t.Errorf("got %v, %d queued, sent %v; want ErrArgument and nothing sent", err, pipe.Len(), r.words)
	}
}

func TestArgDuration_roundsUp(t *testing.T) {
	steps := []struct {
		d    time.Duration
		want int64
	}{
		{0, 0},
		{1, 1},
		{999, 1},
		{1000, 1},
		{1001, 2},
		{time.Second, 1_000_000},
		{-1, 0},
		{-1000, -1},
		{-1001, -1},
		{math.MaxInt64, math.MaxInt64/1000 + 1},
		{math.MinInt64, math.MinInt64 / 1000},
	}
	for _, s := range steps {
		if got := fcall.ArgDuration(s.d); got != s.want {
			t.Errorf("ArgDuration(%d) = %d, want %d", s.d, got, s.want)
		}
	}
}

func TestArgTime_clampsToInt64(t *testing.T) {
	steps := []struct {
		t    time.Time
		want int64
	}{
		{time.Unix(0, 1999), 1}, {time.Unix(0, -1), -1}, {time.Unix(math.MaxInt64, 0), math.MaxInt64}, {time.Unix(math.MinInt64/2, 0), math.MinInt64},
	}
	for _, s := range steps {
		if got := fcall.ArgTime(s.t); got != s.want {
			t.Errorf("ArgTime(%v) = %d, want %d", s.t, got, s.want)
		}
	}
}

func TestMicros_String(t *testing.T) {
	for m, want := range map[fcall.Micros]string{
		0: "0.000000", 1: "0.000001", 1_250_000: "1.250000", -1_250_000: "-1.250000", math.MinInt64: "-9223372036854.775808",
	} {
		if diff := cmp.Diff(want, m.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

package fcall_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A recorder is a Caller that keeps the last command and answers with an empty array.
type recorder struct{ words []any }

func (r *recorder) Process(_ context.Context, cmd redis.Cmder) error {
	r.words = cmd.Args()
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

func ptr[T any](v T) *T { return &v }

func TestArgs_words(t *testing.T) {
	c, r := record(t, fcall.Options{Namespace: "ns"})
	a := c.Args(countFunction("look"), 3, 25)
	a.Key("u1", "log")
	a.Key("u1", "receipts")
	a.KeyOf("u1", "limit", "per minute")
	a.Int(10)
	a.OptInt(0)
	a.OptInt(7)
	a.OptIntPtr(nil)
	a.OptIntPtr(ptr(int64(0)))
	a.Float(math.Copysign(0, -1))
	a.Float(math.NaN())
	a.OptFloat(0)
	a.OptFloatPtr(ptr(1e-7))
	a.OptFloatPtr(nil)
	a.OptBoolPtr(ptr(false))
	a.OptBoolPtr(nil)
	a.OptBool(false)
	a.OptBool(true)
	a.Duration(time.Minute + time.Nanosecond)
	a.OptDuration(0)
	a.OptDurationPtr(ptr(time.Duration(0)))
	a.OptDurationPtr(nil)
	a.Time(time.UnixMicro(1_700_000_000_000_001).Add(999))
	a.OptTime(time.Time{})
	a.Bool(true)
	a.Bool(false)
	a.Text("a\r\n{\x00")
	a.OptText("")
	a.Text("")
	if _, err := a.Call(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := []any{
		"FCALL_RO", "fcalltest_v1_look", 3, "ns:{u1}:log", "ns:{u1}:receipts",
		fcall.KeyOf("ns", "u1", "limit", "per minute"),
		int64(10), "", int64(7), "", int64(0), "0", "NaN", "", "1e-07", "", "0", "", "", "1", int64(60_000_001), "", int64(0), "",
		int64(1_700_000_000_000_001), "", "1", "0", "a\r\n{\x00", "", "",
	}
	if diff := cmp.Diff(want, r.words); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestArgs_defaultNamespace(t *testing.T) {
	c, r := record(t, fcall.Options{})
	a := c.Args(countFunction("hit"), 1, 0)
	a.Key("u1", "log")
	if _, err := a.Call(context.Background()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"FCALL", "fcalltest_v1_hit", 1, "rl:{u1}:log"}, r.words); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// All clients without a name would share one bucket.
func TestArgs_emptySubject(t *testing.T) {
	c, r := record(t, fcall.Options{})
	for name, keys := range map[string]func(a *fcall.Args){
		"of the call":       func(a *fcall.Args) { a.Key("", "log") },
		"of a second key":   func(a *fcall.Args) { a.Key("u1", "log"); a.KeyOf("", "limit", "minute") },
		"of several keys":   func(a *fcall.Args) { a.Key("u1", "log"); a.Keys([]fcall.Subject{"u2", ""}, "block") },
		"of a call of rows": func(a *fcall.Args) { a.GroupKeys(limits("u1", "minute", "hour").Group, "") },
	} {
		a := c.Args(countFunction("hit"), 3, 1)
		keys(a)
		a.Int(1)
		rdb := redis.NewClient(&redis.Options{Addr: noServer})
		defer rdb.Close()
		pipe := rdb.Pipeline()
		_, err := a.Call(t.Context())
		_, queued := a.Queue(t.Context(), pipe).Reply()
		for _, err := range []error{err, queued} {
			if !errors.Is(err, fcall.ErrArgument) || err.Error() != "fcalltest.hit: subject must not be empty" || pipe.Len() != 0 || r.words != nil {
				t.Errorf("%s: got %v, %d queued, sent %v; want ErrArgument and nothing sent", name, err, pipe.Len(), r.words)
			}
		}
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

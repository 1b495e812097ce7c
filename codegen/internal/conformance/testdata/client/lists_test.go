package conformance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

func TestLists_comeBackAsSent(t *testing.T) {
	none := func(change func(*everything.ListsResult)) everything.ListsResult {
		r := everything.ListsResult{
			Names: []string{}, Counts: []int64{}, Deltas: []int64{}, Scores: []float64{}, Prices: []fcall.Micros{}, Waits: []time.Duration{},
			Times: []time.Time{}, Marks: []bool{}, Kinds: []everything.ListsKinds{},
		}
		change(&r)
		return r
	}
	full := everything.ListsParams{
		Names: []string{"a", "", "\x00\r\n\xff", "a"}, Counts: []int64{9, 0, 1}, Deltas: []int64{-5, 0, 5}, Scores: []float64{-1, 0, 1.0 / 3},
		Prices: []fcall.Micros{1000, 0}, Waits: []time.Duration{time.Nanosecond, time.Hour}, Times: []time.Time{time.UnixMicro(1), time.UnixMicro(0)},
		Marks: []bool{true, false}, Kinds: []everything.ListsKinds{everything.ListsKindsBucket, everything.ListsKindsLog}, Copies: new(int64(2)),
	}
	tests := []struct {
		name   string
		params everything.ListsParams
		want   everything.ListsResult
	}{
		{"least", everything.ListsParams{Counts: []int64{0}}, none(func(r *everything.ListsResult) { r.Counts = []int64{0} })},
		{"zeros at the end", everything.ListsParams{Counts: []int64{1, 0}, Kinds: []everything.ListsKinds{"log"}, Names: []string{""}}, none(func(r *everything.ListsResult) {
			r.Names, r.Counts, r.Kinds, r.Total = []string{""}, []int64{1, 0}, []everything.ListsKinds{"log"}, 1
		})},
		{"all given", full, everything.ListsResult{
			Names: append(full.Names, full.Names...), Counts: full.Counts, Deltas: full.Deltas, Scores: full.Scores, Prices: full.Prices,
			Waits: []time.Duration{time.Microsecond, time.Hour}, Times: []time.Time{time.UnixMicro(1), {}}, Marks: full.Marks, Kinds: full.Kinds, Total: 3_600_000_011,
		}},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for mode, client := range modes(t, rdb, c) {
			for _, test := range tests {
				test.params.Subject = "u"
				got, err := client.Lists(t.Context(), test.params)
				if diff := cmp.Diff(test.want, got, utc); err != nil || diff != "" {
					t.Errorf("%s, %s: %v (-want +got):\n%s", test.name, mode, err, diff)
				}
			}
		}
	})
}

// A list over its bound, or with an item over its bound, is an error of the client, of the server, and of a result.
func TestLists_boundsHoldOnEverySide(t *testing.T) {
	one := []int64{1}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for must, p := range map[string]everything.ListsParams{
			"names must have 0 to 4 rows":                  {Counts: one, Names: make([]string, 5)},
			"counts must have 1 to 3 rows":                 {},
			"names.1 must be text of 0 to 8 bytes":         {Counts: one, Names: []string{"", "123456789"}},
			"counts.1 must be a whole number from 0 to 9":  {Counts: []int64{1, 10}},
			"kinds.0 must be one of log, bucket":           {Counts: one, Kinds: []everything.ListsKinds{""}},
			"waits.0 must be a duration from 0s to 1h0m0s": {Counts: one, Waits: []time.Duration{-time.Second}},
		} {
			p.Subject = "u"
			if _, err := c.Lists(t.Context(), p); !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), must) {
				t.Errorf("got %v, want ErrArgument with %q", err, must)
			}
		}
		for words, must := range map[string]string{
			"5 1 1 0 0 0 0 0 0 0":            "names must have 0 to 4 rows",
			"1 123456789 1 1 0 0 0 0 0 0 0":  "names.0 must be 0 to 8 bytes",
			"0 0 0 0 0 0 0 0 0":              "counts must have 1 to 3 rows",
			"0 2 1 01 0 0 0 0 0 0 0":         "counts.1 must be a whole number from 0 to 9",
			"0 1 1 1 -0 0 0 0 0 0 0":         "deltas.0 must be a whole number from -5 to 5",
			"0 1 1 0 1 nan 0 0 0 0 0":        "scores.0 must be a number from -1 to 1",
			"0 1 1 0 0 0 0 0 1 2 0":          "marks.0 must be 1 or 0",
			"0 1 1 0 0 0 0 0 0 2 log closed": "kinds.1 must be one of log, bucket",
			"0 2 1 0 0 0 0 0 0 0":            "as many keys and arguments as its groups have rows",
			"0 1 1 0 0 0 0 0 0 0 1 1":        "as many keys and arguments as its groups have rows",
		} {
			var args []any
			for _, word := range strings.Fields(words) {
				args = append(args, word)
			}
			err := rdb.FCall(t.Context(), "everything_v2_lists", []string{"ns:{u}:state"}, args...).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "RLARG ") || !strings.Contains(err.Error(), must) {
				t.Errorf("%s: got %v, want RLARG with %q", words, err, must)
			}
		}
		_, err := c.Lists(t.Context(), everything.ListsParams{Subject: "u", Counts: one, Names: make([]string, 3), Copies: new(int64(3))})
		if !errors.Is(err, fcall.ErrScript) || !strings.Contains(err.Error(), "result names must have at most 8 rows") {
			t.Errorf("nine names: got %v, want ErrScript", err)
		}
	})
}

package conformance

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

func TestMaps_comeBackAsSent(t *testing.T) {
	second := map[string]time.Duration{"a": time.Second}
	tests := []struct {
		name   string
		params everything.MapsParams
		want   everything.MapsResult
	}{
		{"least", everything.MapsParams{Waits: second}, everything.MapsResult{Waits: second, Total: 1_000_000}},
		{"zeros at the end", everything.MapsParams{Waits: map[string]time.Duration{"a": 0}, Marks: map[string]bool{"m": false}}, everything.MapsResult{
			Waits: map[string]time.Duration{"a": 0}, Marks: map[string]bool{"m": false},
		}},
		{"all given", everything.MapsParams{
			Deltas: map[string]int64{"": -5, "\x00\r\n\xff": 0, "a": 5}, Waits: map[string]time.Duration{"b": time.Nanosecond, "a": time.Hour},
			Names: map[string]string{"n": "", "o": "\xff"}, Kinds: map[string]everything.MapsKindsValue{"k": "bucket", "l": "log"},
			Marks: map[string]bool{"yes": true, "no": false}, Papers: map[string]json.RawMessage{"p": json.RawMessage(`[1]`)},
		}, everything.MapsResult{
			Deltas: map[string]int64{"": -5, "\x00\r\n\xff": 0, "a": 5}, Waits: map[string]time.Duration{"b": time.Microsecond, "a": time.Hour},
			Names: map[string]string{"n": "", "o": "\xff"}, Kinds: map[string]everything.MapsKindsValue{"k": "bucket", "l": "log"},
			Marks: map[string]bool{"yes": true, "no": false}, Papers: map[string]json.RawMessage{"p": json.RawMessage(`[1]`)}, Total: 3_600_000_001,
		}},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for mode, client := range modes(t, rdb, c) {
			for _, test := range tests {
				test.params.Subject = "u"
				got, err := client.Maps(t.Context(), test.params)
				if diff := cmp.Diff(fillMaps(test.want), got); err != nil || diff != "" {
					t.Errorf("%s, %s: %v (-want +got):\n%s", test.name, mode, err, diff)
				}
			}
		}
	})
}

// fillMaps makes missing maps empty ones, as replies have them.
func fillMaps(r everything.MapsResult) everything.MapsResult {
	fill(&r.Deltas)
	fill(&r.Names)
	fill(&r.Kinds)
	fill(&r.Marks)
	fill(&r.Papers)
	return r
}

func fill[V any](m *map[string]V) {
	if *m == nil {
		*m = map[string]V{}
	}
}

// A map over its bounds, with a key or a value over its bounds, or with a key that is repeated, is an error of the client, of the server,
// and of a result.
func TestMaps_boundsHoldOnEverySide(t *testing.T) {
	one := map[string]time.Duration{"a": 0}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for must, p := range map[string]everything.MapsParams{
			"deltas must have 0 to 3 rows":                       {Waits: one, Deltas: map[string]int64{"a": 1, "b": 1, "c": 1, "d": 1}},
			"waits must have 1 to 2 rows":                        {},
			"deltas.0.key must be text of 0 to 8 bytes":          {Waits: one, Deltas: map[string]int64{"123456789": 1}},
			"deltas.1.value must be a whole number from -5 to 5": {Waits: one, Deltas: map[string]int64{"b": 6, "a": 5}},
			"kinds.0.value must be one of log, bucket":           {Waits: one, Kinds: map[string]everything.MapsKindsValue{"k": ""}},
			"waits.0.value must be a duration from 0s to 1h0m0s": {Waits: map[string]time.Duration{"a": -time.Second}},
			"papers.0.value must be JSON":                        {Waits: one, Papers: map[string]json.RawMessage{"p": json.RawMessage(`{`)}},
		} {
			p.Subject = "u"
			if _, err := c.Maps(t.Context(), p); !errors.Is(err, fcall.ErrArgument) || !strings.Contains(err.Error(), must) {
				t.Errorf("got %v, want ErrArgument with %q", err, must)
			}
		}
		for words, must := range map[string]string{
			"4 a 1 b 1 c 1 d 1 1 a 0 0 0 0 0": "deltas must have 0 to 3 rows",
			"0 0 0 0 0 0":                     "waits must have 1 to 2 rows",
			"0 2 a 0 a 0 0 0 0 0":             "waits.1.key must not be repeated",
			"2 b 1 b 2 1 a 0 0 0 0 0":         "deltas.1.key must not be repeated",
			"1 123456789 1 1 a 0 0 0 0 0":     "deltas.0.key must be 0 to 8 bytes",
			"1 b -0 1 a 0 0 0 0 0":            "deltas.0.value must be a whole number from -5 to 5",
			"0 1 a 0 0 1 k closed 0 0":        "kinds.0.value must be one of log, bucket",
			"0 1 a 0 0 0 1 m 2 0":             "marks.0.value must be 1 or 0",
			"0 2 a 0 0 0 0 0":                 "as many keys and arguments as its groups have rows",
			"0 1 a 0 0 0 0 0 1 1":             "as many keys and arguments as its groups have rows",
		} {
			var args []any
			for _, word := range strings.Fields(words) {
				args = append(args, word)
			}
			err := rdb.FCall(t.Context(), "everything_v2_maps", []string{"ns:{u}:state"}, args...).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "RLARG ") || !strings.Contains(err.Error(), must) {
				t.Errorf("%s: got %v, want RLARG with %q", words, err, must)
			}
		}
		_, err := c.Maps(t.Context(), everything.MapsParams{Subject: "u", Waits: one, Deltas: map[string]int64{"a": 1}, Again: 1})
		if !errors.Is(err, fcall.ErrReply) || !strings.Contains(err.Error(), "deltas must have each key once, got 1 repeated") {
			t.Errorf("a key that is repeated: got %v, want ErrReply", err)
		}
		_, err = c.Maps(t.Context(), everything.MapsParams{Subject: "u", Waits: one, Deltas: map[string]int64{"a": 1}, Again: 4})
		if !errors.Is(err, fcall.ErrScript) || !strings.Contains(err.Error(), "result deltas must have at most 4 rows") {
			t.Errorf("five pairs: got %v, want ErrScript", err)
		}
	})
}

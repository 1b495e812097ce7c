package conformance

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

// A float without bounds is any finite number, in arguments, rows and results.
func TestOpen_anyFiniteNumberComesBack(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for _, n := range []float64{
			math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, -math.SmallestNonzeroFloat64, 1 << 53, -(1 << 53), 1 << 63, 1e300, -1e-300,
			1e22, 123456789012345678, 0.1, 0,
		} {
			steps, err := everything.PackOpenSteps(everything.OpenSteps{By: new(n)}, everything.OpenSteps{})
			if err != nil {
				t.Fatal(err)
			}
			p := everything.OpenParams{Subject: "u", Any: n, Least: math.Abs(n), Most: new(-math.Abs(n)), Steps: steps, List: []float64{n}, Times: "one"}
			want := everything.OpenResult{Any: n, Least: math.Abs(n), Most: new(-math.Abs(n) + 0), Sum: []float64{n, 0.5, n}}
			got, err := c.Open(t.Context(), p)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%g: %v (-want +got):\n%s", n, err, diff)
			}
		}
		_, err := c.Open(t.Context(), everything.OpenParams{Subject: "u", Any: math.MaxFloat64, Times: "thousand"})
		if err == nil || !strings.Contains(err.Error(), "result any must be a finite number") {
			t.Errorf("an infinite result: %v", err)
		}
		for must, p := range map[string]everything.OpenParams{
			"any must be a finite number, got NaN":        {Any: math.NaN()},
			"any must be a finite number, got +Inf":       {Any: math.Inf(1)},
			"any must be a finite number, got -Inf":       {Any: math.Inf(-1)},
			"least must be a number at least 0, got -1":   {Least: -1},
			"least must be a number at least 0, got +Inf": {Least: math.Inf(1)},
			"most must be a number at most 5, got 5.5":    {Most: new(5.5)},
			"most must be a number at most 5, got -Inf":   {Most: new(math.Inf(-1))},
			"list.0 must be a finite number, got NaN":     {List: []float64{math.NaN()}},
		} {
			p.Subject, p.Times = "u", "one"
			if _, err := c.Open(t.Context(), p); !errors.Is(err, fcall.ErrArgument) || !strings.HasSuffix(err.Error(), must) {
				t.Errorf("got %v, want %s", err, must)
			}
		}
		for _, text := range []string{"1e309", "-1e309", "1e999999", "inf", "nan", "-nan", "0x1p3", strings.Repeat("9", 33)} {
			err := rdb.FCall(t.Context(), "everything_v2_open", []string{"ns:{u}:state"}, text, "0", "", "", "0", "one").Err()
			if err == nil || err.Error() != "RLARG any must be a finite number" {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}

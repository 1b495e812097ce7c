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

func TestSigns_comeBackAsSent(t *testing.T) {
	pack := func(rows ...everything.SignsSteps) everything.SignsStepsPack {
		p, err := everything.PackSignsSteps(rows...)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		for _, test := range []struct {
			name   string
			params everything.SignsParams
			want   everything.SignsResult
		}{
			{
				"defaults",
				everything.SignsParams{Score: math.Copysign(0, -1)},
				everything.SignsResult{Allowed: true, Wide: 7, Weight: 0.5, Region: "eu west = 1", Steps: []everything.SignsStepsResult{}},
			},
			{
				"all given",
				everything.SignsParams{
					Delta: -1000, Score: -0.1, Wide: new(int64(1 - 1<<53)), Debt: -1, Weight: new(1e-7), Region: "us", Strict: new(false),
					Steps: pack(everything.SignsSteps{By: -5, Rate: new(1.0 / 3), On: new(false)}, everything.SignsSteps{}),
				},
				everything.SignsResult{
					Delta: -1000, Score: -0.1, Wide: 1 - 1<<53, Debt: -1, Weight: 1e-7, Region: "us",
					Steps: []everything.SignsStepsResult{{By: -5, Rate: 1.0 / 3}, {Rate: -0.25, On: true}},
				},
			},
			{
				"greatest and zero",
				everything.SignsParams{
					Delta: 1000, Score: math.Nextafter(100, 0), Wide: new(int64(0)), Debt: 1 - 1<<53, Weight: new(0.0), Strict: new(true),
					Steps: pack(everything.SignsSteps{By: 5, Rate: new(math.SmallestNonzeroFloat64)}),
				},
				everything.SignsResult{
					Allowed: true, Delta: 1000, Score: math.Nextafter(100, 0), Debt: 1 - 1<<53, Region: "eu west = 1",
					Steps: []everything.SignsStepsResult{{By: 5, Rate: math.SmallestNonzeroFloat64, On: true}},
				},
			},
		} {
			test.params.Subject = "u"
			got, err := c.Signs(t.Context(), test.params)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", test.name, err, diff)
			}
		}
		for _, p := range []everything.SignsParams{
			{Delta: -1001}, {Delta: 1001}, {Score: math.NaN()}, {Score: math.Inf(-1)}, {Score: 100.00001}, {Wide: new(int64(-1 << 53))}, {Debt: 1}, {Weight: new(-1e-9)},
		} {
			p.Subject = "u"
			if _, err := c.Signs(t.Context(), p); !errors.Is(err, fcall.ErrArgument) {
				t.Errorf("%+v: got %v, want ErrArgument", p, err)
			}
		}
	})
}

// A server accepts only the texts that clients send; for any other it returns RLARG with the name of the argument.
func TestSigns_serverRefusesOtherTexts(t *testing.T) {
	each(t, func(t *testing.T, rdb *redis.Client, _ *everything.Client) {
		for at, name := range []string{"delta", "score", "wide", "debt", "weight"} {
			for _, text := range []string{
				"-0", "--1", "-", "+1", "01", "-01", " 1", "1 ", "0x10", "-0x1", "nan", "-nan", "inf", "-inf", "1e999", "-0.0", "-1e-999", "1.", ".5",
				"1e", "1,5", "9007199254740992", "-9007199254740992", "1\x00", "0.5\x00", "-1\n", strings.Repeat("1", 1<<20),
			} {
				words := []any{"1", "1", "", "", ""}
				words[at] = text
				err := rdb.FCall(t.Context(), "everything_v2_signs", []string{"ns:{u}:state"}, words...).Err()
				if err == nil || !strings.HasPrefix(err.Error(), "RLARG "+name+" must be a ") {
					t.Errorf("%s %.40q: got %v, want RLARG", name, text, err)
				}
			}
		}
		for _, row := range []string{"-0;", "6;", "1,nan;", "1,-0;", "1.5;", "1,0.5,2;"} {
			err := rdb.FCall(t.Context(), "everything_v2_signs", []string{"ns:{u}:state"}, "1", "1", "", "", "", "", "", row).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "RLARG steps.0.") {
				t.Errorf("row %q: got %v, want RLARG", row, err)
			}
		}
	})
}

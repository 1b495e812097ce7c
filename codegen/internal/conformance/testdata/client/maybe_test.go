package conformance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

// TestMaybe_noneIsNotZero tells a result that is not there from one that is empty or 0, also in rows.
func TestMaybe_noneIsNotZero(t *testing.T) {
	tests := []struct {
		which everything.MaybeWhich
		rows  int64
		want  everything.MaybeResult
	}{
		{"none", 0, everything.MaybeResult{}},
		{"none", 2, everything.MaybeResult{Rows: []everything.MaybeRowsResult{{}, {}}}},
		{"zeros", 1, everything.MaybeResult{
			Found: true, Holder: new(""), Small: new(int64(0)), NeverZero: new(int64(5)), Large: new(int64(0)), Delta: new(int64(-1)), Score: new(0.0),
			Price: new(fcall.Micros(0)), Wait: new(time.Duration(0)), Since: new(time.Time{}), On: new(false), Kind: new(everything.MaybeKindLog),
			Rows: []everything.MaybeRowsResult{{Name: new(""), Number: new(int64(0))}},
		}},
		{"values", 3, everything.MaybeResult{
			Found: true, Holder: new("ann"), Small: new(int64(9)), NeverZero: new(int64(9)), Large: new(int64(3)), Delta: new(int64(-9)), Score: new(0.25),
			Price: new(fcall.Micros(7)), Wait: new(time.Millisecond), Since: new(time.UnixMicro(1)), On: new(true), Kind: new(everything.MaybeKindBucket),
			Rows: []everything.MaybeRowsResult{{Name: new(""), Number: new(int64(0))}, {Name: new(""), Number: new(int64(1))}, {Name: new(""), Number: new(int64(2))}},
		}},
	}
	each(t, func(t *testing.T, rdb *redis.Client, c *everything.Client) {
		for mode, client := range modes(t, rdb, c) {
			for _, test := range tests {
				if test.want.Rows == nil {
					test.want.Rows = []everything.MaybeRowsResult{}
				}
				got, err := client.Maybe(t.Context(), everything.MaybeParams{Subject: "u", Which: test.which, Rows: test.rows})
				if diff := cmp.Diff(test.want, got, utc); err != nil || diff != "" {
					t.Errorf("%s, %s: %v (-want +got):\n%s", test.which, mode, err, diff)
				}
			}
		}
	})
}

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

// TestBeyond_aResultOutOfItsBoundsIsAnError sends the bounds of each result, and one beyond.
func TestBeyond_aResultOutOfItsBoundsIsAnError(t *testing.T) {
	inside := func(change func(*everything.BeyondResult)) *everything.BeyondResult {
		r := &everything.BeyondResult{Ok: true, Small: 3, Large: 3, Rows: []everything.BeyondRowsResult{{Number: 2}}}
		change(r)
		return r
	}
	tests := []struct {
		which everything.BeyondWhich
		value int64
		want  *everything.BeyondResult // nil: an error
		must  string
	}{
		{"none", 0, inside(func(*everything.BeyondResult) {}), ""},
		{"small", 9, inside(func(r *everything.BeyondResult) { r.Small = 9 }), ""},
		{"small", 10, nil, "result small must be a whole number from 3 to 9"},
		{"small", 2, nil, "result small must be a whole number from 3 to 9"},
		{"small", 0, nil, "result small must be a whole number from 3 to 9"},
		{"large", 20_000_000, inside(func(r *everything.BeyondResult) { r.Large = 20_000_000 }), ""},
		{"large", 20_000_001, nil, "result large must be a whole number from 3 to 20000000"},
		{"large", 0, nil, "result large must be a whole number from 3 to 20000000"},
		{"price", 1_000_000, inside(func(r *everything.BeyondResult) { r.Price = 1_000_000 }), ""},
		{"price", 1_000_001, nil, "result price must be a whole number from 0 to 1000000"},
		{"wait", 86_400_000_000, inside(func(r *everything.BeyondResult) { r.Wait = 24 * time.Hour }), ""},
		{"wait", 86_400_000_001, nil, "result wait must be a whole number from 0 to 86400000000"},
		{"note", 4, inside(func(r *everything.BeyondResult) { r.Note = "xxxx" }), ""},
		{"note", 5, nil, "result note must be at most 4 bytes"},
		{"row", 20_000_000, inside(func(r *everything.BeyondResult) { r.Rows[0].Number = 20_000_000 }), ""},
		{"row", 20_000_001, nil, "result rows.number must be a whole number from 2 to 20000000"},
		{"row", 0, nil, "result rows.number must be a whole number from 2 to 20000000"},
	}
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		for _, tt := range tests {
			got, err := c.Beyond(t.Context(), everything.BeyondParams{Subject: "u", Which: tt.which, Value: tt.value})
			if tt.want == nil {
				if !errors.Is(err, fcall.ErrScript) || !strings.Contains(err.Error(), tt.must) {
					t.Errorf("%s of %d: got %v, want ErrScript with %q", tt.which, tt.value, err, tt.must)
				}
				continue
			}
			if diff := cmp.Diff(*tt.want, got); diff != "" || err != nil {
				t.Errorf("%s of %d: %v (-want +got):\n%s", tt.which, tt.value, err, diff)
			}
		}
	})
}

package reference

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// The example call of a page is one that the function accepts.
func TestSample_isWithinBounds(t *testing.T) {
	span := func(least, most time.Duration) spec.Field {
		return spec.Field{Kind: spec.KindDuration, Min: least.Microseconds(), Max: most.Microseconds()}
	}
	text := func(least, most int64) spec.Field { return spec.Field{Kind: spec.KindText, Min: least, Max: most} }
	for _, c := range []struct {
		field spec.Field
		want  string
	}{
		{span(time.Millisecond, time.Hour), "1m"},
		{span(time.Hour, 366*24*time.Hour), "1h"},
		{span(90*time.Minute, 24*time.Hour), "1h30m"},
		{span(24*time.Hour, 48*time.Hour), "24h"},
		{span(0, 30*time.Second), "30s"},
		{span(0, 500*time.Microsecond), "500us"},
		{text(1, 64), "abc"},
		{text(0, 2), "ab"},
		{text(8, 64), "abcabcab"},
		{spec.Field{Kind: spec.KindTime, Max: 1 << 53}, "2026-01-31T12:00:00Z"},
		{spec.Field{Kind: spec.KindCount, Min: 20, Max: 30}, "20"},
	} {
		if got := sample(c.field); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.field, got, c.want)
		}
	}
}

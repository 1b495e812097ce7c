package duration_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{"90m": 90 * time.Minute, "1d12h": 36 * time.Hour, "30d": 720 * time.Hour, "0": 0, "250ms": 250 * time.Millisecond, "-1s": -time.Second} {
		if got, err := duration.Parse(text); err != nil || got != want {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "60", "1w", "d", "1d0", "1d-1h", "99999d", "-1d"} {
		if got, err := duration.Parse(text); err == nil {
			t.Errorf("%q: got %v, want an error", text, got)
		}
	}
}

package refusals_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/refusals"
)

func TestCache_isBounded(t *testing.T) {
	const entries = 100
	c := refusals.New[string](entries, time.Hour)
	defer c.Close()
	now := monotime.Now()
	for i := range int64(100 * entries) {
		c.Add(refusals.Key{Weight: i}, "no", nil, now, time.Minute)
		c.AddReceipt(refusals.Key{Weight: i, Receipt: "r"}, time.Minute)
	}
	found := func() (n int) {
		for i := range int64(100 * entries) {
			if _, _, ok := c.Find(refusals.Key{Weight: i}, now); ok {
				n++
			}
			if c.HasReceipt(refusals.Key{Weight: i, Receipt: "r"}) {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(10 * time.Second); found() > entries; { // evicts in the background
		if time.Now().After(deadline) {
			t.Fatalf("%d entries, want at most %d", found(), entries)
		}
	}
}

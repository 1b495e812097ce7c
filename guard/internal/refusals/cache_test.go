package refusals_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/monotime"
	"github.com/rlfunc/rlfunc/guard/internal/refusals"
)

func TestCache_emptyBeforeAndAfterItsEntries(t *testing.T) {
	c := refusals.New[string](10, time.Hour)
	defer c.Close()
	now := monotime.Now()
	if !c.Empty(now) {
		t.Error("a new cache is not empty")
	}
	c.Add(refusals.Key{Subject: "long"}, "no", nil, now, time.Minute)
	c.Add(refusals.Key{Subject: "short"}, "no", nil, now, time.Second)
	if c.Empty(now) || c.Empty(now.Add(59*time.Second)) || !c.Empty(now.Add(time.Minute)) {
		t.Error("empty before its entries expire, or not empty afterwards")
	}
	if none := (*refusals.Cache[string])(nil); !none.Empty(now) {
		t.Error("a nil cache is not empty")
	}
}

func TestCache_invalidateRemovesRefusalsOfTheSubject(t *testing.T) {
	c := refusals.New[string](10, time.Hour)
	defer c.Close()
	now := monotime.Now()
	c.Add(refusals.Key{Subject: "a"}, "ada", []string{"user=ada"}, now, time.Minute)
	c.Add(refusals.Key{Subject: "b"}, "bob", []string{"user=bob"}, now, time.Minute)
	c.Invalidate("user=ada")
	if _, _, ok := c.Find(refusals.Key{Subject: "a"}, now); ok {
		t.Error("the refusal of ada is still cached")
	}
	if got, _, ok := c.Find(refusals.Key{Subject: "b"}, now); !ok || got != "bob" {
		t.Errorf("bob: %q, %v", got, ok)
	}
}

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

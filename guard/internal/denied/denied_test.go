package denied_test

import (
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/internal/denied"
	"github.com/rlfunc/rlfunc/guard/internal/moment"
)

func TestCache_isEmptyUntilSomethingIsKeptAndOnceItHasEnded(t *testing.T) {
	c := denied.New[string](10, time.Hour)
	defer c.Close()
	now := moment.Now()
	if !c.Empty(now) {
		t.Error("it is not empty at first")
	}
	c.Add(denied.Key{Subject: "long"}, "no", nil, now, time.Minute)
	c.Add(denied.Key{Subject: "short"}, "no", nil, now, time.Second)
	if c.Empty(now) || c.Empty(now.Add(59*time.Second)) || !c.Empty(now.Add(time.Minute)) {
		t.Error("it is empty while something is kept, or is not afterwards")
	}
	if none := (*denied.Cache[string])(nil); !none.Empty(now) {
		t.Error("none is not empty")
	}
}

func TestCache_aReleaseEndsWhatConcernsTheSubject(t *testing.T) {
	c := denied.New[string](10, time.Hour)
	defer c.Close()
	now := moment.Now()
	c.Add(denied.Key{Subject: "a"}, "ada", []string{"user=ada"}, now, time.Minute)
	c.Add(denied.Key{Subject: "b"}, "bob", []string{"user=bob"}, now, time.Minute)
	c.Release("user=ada")
	if _, _, ok := c.Find(denied.Key{Subject: "a"}, now); ok {
		t.Error("ada is refused still")
	}
	if got, _, ok := c.Find(denied.Key{Subject: "b"}, now); !ok || got != "bob" {
		t.Errorf("bob: %q, %v", got, ok)
	}
}

func TestCache_keepsAtMostSoMany(t *testing.T) {
	const entries = 100
	c := denied.New[string](entries, time.Hour)
	defer c.Close()
	now := moment.Now()
	for i := range int64(100 * entries) {
		c.Add(denied.Key{Weight: i}, "no", nil, now, time.Minute)
		c.Admitted(denied.Key{Weight: i, Receipt: "r"}, time.Minute)
	}
	found := func() (n int) {
		for i := range int64(100 * entries) {
			if _, _, ok := c.Find(denied.Key{Weight: i}, now); ok {
				n++
			}
			if c.Passes(denied.Key{Weight: i, Receipt: "r"}) {
				n++
			}
		}
		return n
	}
	for deadline := time.Now().Add(10 * time.Second); found() > entries; { // it lets go behind
		if time.Now().After(deadline) {
			t.Fatalf("%d are kept, of at most %d", found(), entries)
		}
	}
}

package report

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Memory is bounded, the most frequent names are kept, and each count is at most Over too high.
func TestTop_keepsTheMostFrequent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kept, real := newTop(50), map[string]int64{}
	for range 100_000 {
		name := fmt.Sprint("s", int(random.ExpFloat64()*20))
		if random.IntN(2) == 0 {
			name = fmt.Sprint("once", random.IntN(1_000_000))
		}
		real[name]++
		kept.add(name)
	}
	all := kept.counts()
	if len(all) != 50 || len(kept.index) != 50 {
		t.Fatalf("%d names and %d places, want 50", len(all), len(kept.index))
	}
	for i, c := range all {
		if c.N < real[c.Name] || c.N-c.Over > real[c.Name] {
			t.Errorf("%s was counted %d (at most %d too high), and came %d times", c.Name, c.N, c.Over, real[c.Name])
		}
		if i > 0 && c.N > all[i-1].N {
			t.Errorf("%v is behind %v", c, all[i-1])
		}
	}
	for i := range 20 { // a name with more than 100,000 / 50 counts is kept
		if name := fmt.Sprint("s", i); real[name] > 2000 {
			if _, ok := kept.index[name]; !ok {
				t.Errorf("%s came %d times and is not kept", name, real[name])
			}
		}
	}
}

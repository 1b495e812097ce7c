package store

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

type pair struct {
	Member string
	Score  float64
}

func content(z *Sorted) []pair {
	all := []pair{}
	for n := z.At(0); n != nil; n = n.Next() {
		all = append(all, pair{n.Member, n.Score})
	}
	return all
}

func sortPairs(model map[string]float64) []pair {
	all := []pair{}
	for m, s := range model {
		all = append(all, pair{m, s})
	}
	slices.SortFunc(all, func(a, b pair) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Member, b.Member))
	})
	return all
}

func TestSorted_agreesWithSortedSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	z, model := NewSorted(), map[string]float64{}
	for step := range 20_000 {
		member, score := fmt.Sprint(r.IntN(300)), float64(r.IntN(100))
		if r.IntN(3) == 0 {
			_, there := model[member]
			delete(model, member)
			if got := z.Delete(member); got != there {
				t.Fatalf("step %d: Delete(%s) = %v, want %v", step, member, got, there)
			}
		} else {
			model[member] = score
			z.Set(member, score)
		}
		if step%500 != 0 {
			continue
		}
		want := sortPairs(model)
		if diff := gocmp.Diff(want, content(z)); diff != "" {
			t.Fatalf("step %d: members (-want +got):\n%s", step, diff)
		}
		for rank, p := range want {
			if got, _ := z.Rank(p.Member); got != rank || z.At(rank).Member != p.Member {
				t.Fatalf("step %d: Rank(%s) = %d, want %d", step, p.Member, got, rank)
			}
		}
		low := float64(r.IntN(100))
		within := Scores{Min: low, Max: low + 10, MaxExclusive: true}
		count := 0
		for _, p := range want {
			if p.Score >= low && p.Score < low+10 {
				count++
			}
		}
		if got := z.Count(within); got != count {
			t.Fatalf("step %d: Count(%v) = %d, want %d", step, within, got, count)
		}
	}
}

func TestSorted_walksBothWays(t *testing.T) {
	z := NewSorted()
	for i := range 1000 {
		z.Set(fmt.Sprint(i), float64(i%7))
	}
	forth := content(z)
	back := []pair{}
	for n := z.Highest(); n != nil; n = n.Prev() {
		back = append(back, pair{n.Member, n.Score})
	}
	slices.Reverse(back)
	if diff := gocmp.Diff(forth, back); diff != "" {
		t.Errorf("members forth and back (-forth +back):\n%s", diff)
	}
}

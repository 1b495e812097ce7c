package plan

import (
	"iter"
	"math/bits"
)

// A RowSet is a set of rows of a plan, by index.
type RowSet uint32

// Has reports whether the set contains row i.
func (s RowSet) Has(i int) bool { return s>>i&1 == 1 }

// Rank returns the number of rows of the set before row i.
func (s RowSet) Rank(i int) int { return bits.OnesCount64(uint64(s) & (1<<i - 1)) }

// All yields the rows in order.
func (s RowSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for left := uint32(s); left != 0; left &= left - 1 {
			if !yield(bits.TrailingZeros32(left)) {
				return
			}
		}
	}
}

// split separates the first n rows from the overflow.
func (s RowSet) split(n int) (first, overflow RowSet) {
	for i := range s.All() {
		if first.Rank(32) == n {
			return first, s &^ first
		}
		first |= 1 << i
	}
	return first, 0
}

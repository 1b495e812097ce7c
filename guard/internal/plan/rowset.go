package plan

import (
	"iter"
	"math/bits"
)

// A RowSet is some of a plan's rows, by their places.
type RowSet uint32

// Has reports whether a row is one of them.
func (s RowSet) Has(i int) bool { return s>>i&1 == 1 }

// Place is where a row of the set stands among its rows.
func (s RowSet) Place(i int) int { return bits.OnesCount64(uint64(s) & (1<<i - 1)) }

// All yields the rows in their order.
func (s RowSet) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for left := uint32(s); left != 0; left &= left - 1 {
			if !yield(bits.TrailingZeros32(left)) {
				return
			}
		}
	}
}

// cut parts the first n rows from the rest.
func (s RowSet) cut(n int) (first, rest RowSet) {
	for i := range s.All() {
		if first.Place(32) == n {
			return first, s &^ first
		}
		first |= 1 << i
	}
	return first, 0
}

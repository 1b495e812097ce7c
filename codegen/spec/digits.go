package spec

const (
	// Wide is how many values a count has that shares a number with others. One that can be greater shares it only while it is smaller.
	Wide = 1 << 20

	// PairSmall bounds the small results, and PairNumber the first of two numbers in thousands, that together are sent as one number.
	PairSmall  = 1 << 5
	PairNumber = 1 << 23

	mostWord = 1 << 32 // what is left of 2^53 holds a time of a few minutes, or a count
)

// Digits says how many values each of these results has as a digit of the number that the small ones share; 0 for one that travels by
// itself. A client and a server have to agree on it. docs/wire.md describes what they send.
func Digits(results []Field) []int64 {
	out, word := make([]int64, len(results)), int64(1)
	for i, f := range results {
		n := f.Digit()
		if n > 0 && word*n <= mostWord {
			out[i], word = n, word*n
		}
	}
	return out
}

// Digit is how many values a small result has; 0 for others.
func (f *Field) Digit() int64 {
	switch f.Kind {
	case KindBool:
		return 2
	case KindEnum:
		return int64(len(f.Values))
	case KindCount:
		return min(f.Max, Wide-1) + 1
	}
	return 0
}

package replay

import "time"

// buckets counts requests over time, in at most maxBuckets parts of equal width.
type buckets struct {
	width int // index in widths
	parts []Bucket
	first int64 // Unix second in which the first part starts
}

const mostBuckets = 120

// widths are the widths in seconds, each a multiple of the previous one.
var widths = []int64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 7 * 86400, 28 * 86400, 364 * 86400}

// add counts a request. Times must not decrease.
func (b *buckets) add(micros int64, allowed bool) {
	second := micros / 1_000_000
	if len(b.parts) == 0 {
		b.first = second
	}
	for b.index(second) >= mostBuckets && b.width < len(widths)-1 {
		b.widen()
	}
	n := b.index(second)
	for len(b.parts) <= n {
		b.parts = append(b.parts, Bucket{})
	}
	if allowed {
		b.parts[n].Allowed++
	} else {
		b.parts[n].Refused++
	}
}

func (b *buckets) index(second int64) int { return int((second - b.first) / widths[b.width]) }

// widen merges the parts into parts of the next width, which start at its multiples.
func (b *buckets) widen() {
	old, first := widths[b.width], b.first
	b.width++
	b.first -= b.first % widths[b.width]
	var parts []Bucket
	for i, part := range b.parts {
		n := b.index(first + int64(i)*old)
		for len(parts) <= n {
			parts = append(parts, Bucket{})
		}
		parts[n].Allowed += part.Allowed
		parts[n].Refused += part.Refused
	}
	b.parts = parts
}

// list returns the seconds of a part, and the parts with their start times.
func (b *buckets) list() (float64, []Bucket) {
	for i := range b.parts {
		b.parts[i].Start = time.Unix(b.first+int64(i)*widths[b.width], 0).UTC()
	}
	return float64(widths[b.width]), b.parts
}

package replay

import "time"

// buckets count requests over time, in parts as long as it takes to need no more than mostBuckets.
type buckets struct {
	width int // of widths
	parts []Bucket
	first int64 // second in which the first one starts
}

const mostBuckets = 120

// widths in seconds, each a multiple of the one before.
var widths = []int64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 7 * 86400, 28 * 86400, 364 * 86400}

// add counts a request at a time that is not earlier than the one before.
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

// widen takes the next width, on whose multiples the parts start then.
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

// list returns how many seconds a part is, and the parts with their times.
func (b *buckets) list() (float64, []Bucket) {
	for i := range b.parts {
		b.parts[i].Start = time.Unix(b.first+int64(i)*widths[b.width], 0).UTC()
	}
	return float64(widths[b.width]), b.parts
}

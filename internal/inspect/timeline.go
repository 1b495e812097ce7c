package inspect

import (
	"strings"
	"time"
)

const cells = 60 // of a timeline

var (
	blocks = []rune("▁▂▃▄▅▆▇█")
	digits = []rune("123456789+")
)

// counted counts the moments in each cell of the window that ends now, oldest first.
func counted(moments []time.Time, now time.Time, window time.Duration) (counts [cells]int, most int) {
	begin := now.Add(-window)
	for _, at := range moments {
		if !at.After(begin) || at.After(now) {
			continue
		}
		i := min(int(float64(at.Sub(begin))/float64(window)*cells), cells-1)
		counts[i]++
		most = max(most, counts[i])
	}
	return counts, most
}

// drawn returns a line of blocks with heights relative to most. In ASCII it has digits, with + for ten and more.
func drawn(counts [cells]int, most int, ascii bool) string {
	var b strings.Builder
	for _, n := range counts {
		switch {
		case n == 0 && ascii:
			b.WriteByte('.')
		case n == 0:
			b.WriteRune('·')
		case ascii:
			b.WriteRune(digits[min(n, len(digits))-1])
		default:
			b.WriteRune(blocks[(n*len(blocks)-1)/most])
		}
	}
	return b.String()
}

// axis returns the line of times below a timeline.
func axis(now time.Time, window time.Duration) string {
	stamp := func(at time.Time) string { return When(at, now) }
	switch {
	case window < 10*time.Second:
		stamp = func(at time.Time) string { return at.UTC().Format("15:04:05.000") }
	case window > 24*time.Hour:
		stamp = func(at time.Time) string { return at.UTC().Format("2006-01-02 15h") }
	}
	left, middle, right := stamp(now.Add(-window)), stamp(now.Add(-window/2)), stamp(now)
	gap := max(cells/2-len(middle)/2-len(left), 1)
	line := left + strings.Repeat(" ", gap) + middle
	return line + strings.Repeat(" ", max(cells-len(line)-len(right), 1)) + right
}

const barCells = 16

// bar draws the used share of most.
func bar(used, most int64, ascii bool) string {
	full, empty := "█", "░"
	if ascii {
		full, empty = "#", "-"
	}
	n := barCells
	if most > 0 && used < most {
		n = int(float64(used) / float64(most) * barCells)
		if used > 0 {
			n = max(n, 1)
		}
	}
	return strings.Repeat(full, n) + strings.Repeat(empty, barCells-n)
}

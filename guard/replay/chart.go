package replay

import (
	"fmt"
	"math"
	"time"
)

// A timeChart shows the requests over time as columns, in the units of an SVG of chartWidth by chartHeight.
type timeChart struct {
	Width, Height float64
	Left, Bottom  float64 // axes
	Columns       []column
	Rows          []tickAt // grid lines, with the number of requests
	Marks         []tickAt // time axis
	Blocks        []tickAt // starts of blocks
}

type column struct {
	X, Width           float64
	Top, Middle, Lower float64 // refused from Top to Middle, allowed from Middle to Lower
	Title              string
}

type tickAt struct {
	At   float64
	Text string
}

const (
	chartWidth  = 1000.
	chartHeight = 260.
	chartLeft   = 58.
	chartTop    = 14.
	chartBottom = 228.
	mostMarks   = 10
	markRoom    = 30. // half the width of a mark's text
)

func (r *Report) timeChart() timeChart {
	c := timeChart{Width: chartWidth, Height: chartHeight, Left: chartLeft, Bottom: chartBottom}
	most := int64(1)
	for _, b := range r.Buckets {
		most = max(most, b.Allowed+b.Refused)
	}
	step := niceStep(float64(most) / 4)
	top := step * math.Ceil(float64(most)/step)
	y := func(n float64) float64 { return chartBottom - (chartBottom-chartTop)*n/top }
	for n := 0.; n <= top; n += step {
		c.Rows = append(c.Rows, tickAt{y(n), number(int64(n))})
	}
	if len(r.Buckets) == 0 {
		return c
	}
	width := (chartWidth - chartLeft) / float64(len(r.Buckets))
	bucket := time.Duration(r.Bucket) * time.Second
	format := layout(bucket * time.Duration(len(r.Buckets)))
	every := markEvery(int64(r.Bucket), len(r.Buckets))
	for i, b := range r.Buckets {
		x := chartLeft + float64(i)*width
		if b.Start.Unix()%every == 0 && x < chartWidth-markRoom {
			c.Marks = append(c.Marks, tickAt{x, b.Start.Format(format)})
		}
		if b.Allowed+b.Refused == 0 {
			continue
		}
		c.Columns = append(c.Columns, column{
			X: x + width*0.06, Width: width * 0.88, Top: y(float64(b.Allowed + b.Refused)), Middle: y(float64(b.Allowed)), Lower: chartBottom,
			Title: fmt.Sprintf("%s, %s: %s allowed, %s refused", stamp(b.Start), lasting(r.Bucket), number(b.Allowed), number(b.Refused)),
		})
	}
	begin := r.Buckets[0].Start
	for _, k := range r.BlockList {
		part := float64(k.Time.Sub(begin)) / float64(bucket*time.Duration(len(r.Buckets)))
		c.Blocks = append(c.Blocks, tickAt{chartLeft + part*(chartWidth-chartLeft), fmt.Sprintf("%s: block of %s for %s", stamp(k.Time), printable(k.Subject), lasting(k.Seconds))})
	}
	return c
}

// AllowedHeight returns the height of the lower part.
func (c column) AllowedHeight() float64 { return c.Lower - c.Middle }

// RefusedHeight returns the height of the upper part.
func (c column) RefusedHeight() float64 { return c.Middle - c.Top }

// markEvery returns the seconds between marks of the time axis, which are at round times.
func markEvery(bucket int64, n int) int64 {
	for _, every := range []int64{1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 7 * 86400, 28 * 86400} {
		if every >= bucket && every*mostMarks >= bucket*int64(n) && every%bucket == 0 {
			return every
		}
	}
	return 364 * 86400
}

// niceStep returns the smallest 1, 2 or 5 times a power of ten that is at least n.
func niceStep(n float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(max(n, 1))))
	for _, times := range []float64{1, 2, 5} {
		if times*power >= n {
			return times * power
		}
	}
	return 10 * power
}

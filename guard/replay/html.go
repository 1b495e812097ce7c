package replay

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/internal/terminal"
)

//go:embed report.gohtml
var pageText string

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"number": number, "share": share, "stamp": stamp, "lasting": lasting, "printable": terminal.Visible, "counted": counted, "listed": func(i int) bool { return i < mostListed }, "lines": func(n int64) string { return counted(n, "line", "lines") },
	}).Parse(pageText))
})

// WriteHTML writes the report as one HTML page without scripts or external files. It escapes all text of the log.
func (r *Report) WriteHTML(w io.Writer) error {
	return page().Execute(w, struct {
		*Report
		Time      timeChart
		Subjects  []bar
		Refusing  []bar
		Endpoints []bar
		More      int64 // subjects
		Rest      int64 // blocks
	}{
		r, r.timeChart(), r.subjectBars(), r.limitBars(), r.endpointBars(), r.Hit - int64(len(r.Top)),
		r.Blocks - int64(min(mostListed, len(r.BlockList))),
	})
}

// A bar is one row of a chart.
type bar struct {
	Label, Note    string
	Allowed        int64
	Refused        int64
	Red, Grey      float64 // widths of refused and allowed, in percent
	Share, Comment string
}

const (
	mostBars   = 12
	mostListed = 14 // blocks
)

func (r *Report) subjectBars() []bar {
	var bars []bar
	for _, s := range r.Top[:min(mostBars, len(r.Top))] {
		bars = append(bars, bar{Label: terminal.Visible(s.Subject), Allowed: s.Requests - s.Refused, Refused: s.Refused, Note: string(s.Reason)})
	}
	return scaled(bars)
}

func (r *Report) limitBars() []bar {
	var bars []bar
	for i := range r.Limits {
		l := &r.Limits[i]
		b := bar{Label: l.Title() + l.mark(), Note: l.Kind + ", " + l.rate(), Refused: l.Refused}
		if l.Refused > 0 {
			b.Comment = number(l.Alone) + " alone"
		}
		bars = append(bars, b)
	}
	return scaled(bars)
}

func (r *Report) endpointBars() []bar {
	var bars []bar
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		bars = append(bars, bar{Label: e.Name, Allowed: e.Allowed, Refused: e.Refused})
	}
	return scaled(bars)
}

// scaled sets the widths of bars, with 100 % for the longest one.
func scaled(bars []bar) []bar {
	most := int64(1)
	for _, b := range bars {
		most = max(most, b.Allowed+b.Refused)
	}
	for i := range bars {
		b := &bars[i]
		b.Red, b.Grey = 100*float64(b.Refused)/float64(most), 100*float64(b.Allowed)/float64(most)
		b.Share = share(b.Refused, b.Allowed+b.Refused)
	}
	return bars
}

// layout returns the time format of an axis by its span.
func layout(span time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case span < 10*time.Minute:
		return "15:04:05"
	case span < 2*day:
		return "15:04"
	case span < 365*day:
		return "Jan 2"
	}
	return "Jan 2006"
}

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
		c.Blocks = append(c.Blocks, tickAt{chartLeft + part*(chartWidth-chartLeft), fmt.Sprintf("%s: block of %s for %s", stamp(k.Time), terminal.Visible(k.Subject), lasting(k.Seconds))})
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

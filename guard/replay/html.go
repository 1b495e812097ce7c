package replay

import (
	_ "embed"
	"html/template"
	"io"
	"sync"
	"time"
)

//go:embed report.gohtml
var pageText string

var page = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("report").Funcs(template.FuncMap{
		"number": number, "share": share, "stamp": stamp, "lasting": lasting, "printable": printable, "counted": counted, "listed": func(i int) bool { return i < mostListed }, "lines": func(n int64) string { return counted(n, "line", "lines") },
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
		bars = append(bars, bar{Label: printable(s.Subject), Allowed: s.Requests - s.Refused, Refused: s.Refused, Note: string(s.Reason)})
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

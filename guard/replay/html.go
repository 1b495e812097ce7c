package replay

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/internal/terminal"
)

//go:embed report.css
var styles string

// A page is HTML, whose text from elsewhere is escaped as html/template escapes it. That package would keep the linker from leaving out
// methods that nobody calls.
type page struct{ strings.Builder }

var escaper = strings.NewReplacer("\x00", "\uFFFD", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;", "<", "&lt;", ">", "&gt;")

// add formats HTML, and escapes all texts among the arguments.
func (p *page) add(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = escaper.Replace(text)
		}
	}
	fmt.Fprintf(p, format, args...)
}

// section adds a section with a heading and a table.
func (p *page) section(heading string, rows func()) {
	p.add("<section>\n<h2>%s</h2>\n<table>\n", heading)
	rows()
	p.add("</table>\n")
}

// WriteHTML writes the report as one HTML page without scripts or external files. It escapes all text of the log.
func (r *Report) WriteHTML(w io.Writer) error {
	var p page
	p.head(r)
	if len(r.Buckets) > 0 {
		p.chart(r)
	}
	p.add("<div class=\"two\">\n")
	if len(r.Limits) > 0 {
		p.section("Refused by limit", func() {
			for _, b := range r.limitBars() {
				p.add(`<tr><td><span class="name">%s</span><br><span class="small">%s</span></td>`, b.Label, b.Note)
				p.bar(b, `%s<br><span class="small">%s</span>`, number(b.Refused), b.Comment)
			}
		})
		p.add("</section>")
	}
	p.add("\n\n")
	p.section("By endpoint", func() {
		for _, b := range r.endpointBars() {
			p.add(`<tr><td class="name">%s</td>`, b.Label)
			p.bar(b, `%s refused<br><span class="small">%s allowed</span>`, number(b.Refused), number(b.Allowed))
		}
	})
	p.add("</section>\n</div>\n\n<div class=\"two\">\n")
	if bars := r.subjectBars(); len(bars) > 0 {
		p.subjects(r, bars)
	}
	p.add("\n\n")
	if len(r.Reasons) > 0 {
		p.reasons(r)
	}
	p.add("\n</div>\n\n")
	p.about(r)
	p.add("</main>\n</body>\n</html>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *page) head(r *Report) {
	title := "rlfunc replay"
	if r.Log != "" {
		title += ": " + r.Log
	}
	p.add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n")
	p.add("<title>%s</title>\n<style>\n", title)
	p.WriteString(styles)
	p.add("</style>\n</head>\n<body>\n<main>\n<h1>%s</h1>\n<p class=\"quiet\">", r.Verdict())
	if r.Log != "" {
		p.add("%s, ", r.Log)
	}
	if r.Requests > 0 {
		p.add("%s to %s UTC, ", stamp(r.First), stamp(r.Last))
	}
	p.add("%s</p>\n\n<div class=\"cards\">\n", counted(r.Lines, "line", "lines"))
	card := func(class, value, format string, args ...any) {
		p.add("<div class=\"%s\"><b>%s</b><span class=\"quiet\">", class, value)
		p.add(format+"</span></div>\n", args...)
	}
	refused := "card"
	if r.Refused > 0 {
		refused = "card bad"
	}
	card("card", number(r.Requests), "requests decided")
	card("card", number(r.Allowed), "allowed")
	card(refused, number(r.Refused), "refused, %s", share(r.Refused, r.Requests))
	card("card", number(r.Hit), "of %s subjects had a refused request", number(r.Subjects))
	card("card", number(r.Blocks), "blocks would have started")
	p.add("</div>\n\n")
}

func (p *page) chart(r *Report) {
	c := r.timeChart()
	p.add(`<section>
<div class="key"><i style="background:var(--allowed)"></i>allowed<i style="background:var(--refused)"></i>refused`)
	if len(c.Blocks) > 0 {
		p.add(`<i style="background:var(--block)"></i>start of a block`)
	}
	p.add("</div>\n<h2>Requests per %s</h2>\n", lasting(r.Bucket))
	p.add("<svg viewBox=\"0 0 %v %v\" role=\"img\" aria-label=\"Requests over time, allowed and refused\">\n", c.Width, c.Height)
	for _, t := range c.Rows {
		p.add(`<line class="grid" x1="%v" x2="%v" y1="%[3]v" y2="%[3]v"/><text x="%[1]v" dx="-8" y="%[3]v" dy="4" text-anchor="end">%s</text>`+"\n", c.Left, c.Width, t.At, t.Text)
	}
	for _, b := range c.Columns {
		p.add(`<g><title>%s</title><rect class="a" x="%v" y="%v" width="%v" height="%v"/>`, b.Title, b.X, b.Middle, b.Width, b.Lower-b.Middle)
		p.add(`<rect class="r" x="%v" y="%v" width="%v" height="%v"/></g>`+"\n", b.X, b.Top, b.Width, b.Middle-b.Top)
	}
	for _, t := range c.Marks {
		p.add(`<text x="%v" y="%v" dy="-10" text-anchor="middle">%s</text>`+"\n", t.At, c.Height, t.Text)
	}
	for _, t := range c.Blocks {
		p.add(`<circle class="k" cx="%v" cy="%v" r="4"><title>%s</title></circle>`+"\n", t.At, c.Bottom, t.Text)
	}
	p.add("</svg>\n</section>\n\n")
}

// bar adds the cells of a bar, and ends its row; format is that of the numbers beside it.
func (p *page) bar(b bar, format string, args ...any) {
	p.add(`<td class="w"><svg viewBox="0 0 100 12" preserveAspectRatio="none" role="img" aria-label="%d refused, %d allowed">`, b.Refused, b.Allowed)
	p.add(`<title>%s refused, %s allowed</title><rect class="r" x="0" y="0" width="%v" height="12"/>`, number(b.Refused), number(b.Allowed), b.Red)
	p.add(`<rect class="a" x="%v" y="0" width="%v" height="12"/></svg></td><td class="n">`, b.Red, b.Grey)
	p.add(format+"</td></tr>\n", args...)
}

func (p *page) subjects(r *Report, bars []bar) {
	p.section("Most refused subjects", func() {
		for _, b := range bars {
			p.add(`<tr><td class="name">%s</td>`, b.Label)
			p.bar(b, `%s<br><span class="small">%s</span>`, number(b.Refused), b.Share)
		}
	})
	p.add("<details><summary>%d subjects in numbers", len(r.Top))
	if more := r.Hit - int64(len(r.Top)); more > 0 {
		p.add(", %s more with refused requests", number(more))
	}
	p.add(`</summary>
<table><tr><th>subject</th><th class="n">requests</th><th class="n">refused</th><th>last reason</th><th>first refused</th><th>last refused</th></tr>
`)
	for _, s := range r.Top {
		p.add(`<tr><td class="name">%s</td><td class="n">%s</td><td class="n">%s</td>`, terminal.Visible(s.Subject), number(s.Requests), number(s.Refused))
		p.add(`<td>%s</td><td class="t">%s</td><td class="t">%s</td></tr>`+"\n", string(s.Reason), stamp(s.First), stamp(s.Last))
	}
	p.add("</table></details>\n</section>")
}

func (p *page) reasons(r *Report) {
	p.add("<section>\n<h2>Reasons</h2>\n<table><tr><th>reason</th><th class=\"n\">refused</th><th class=\"n\">of all requests</th></tr>\n")
	for _, one := range r.Reasons {
		p.add(`<tr><td>%s</td><td class="n">%s</td><td class="n">%s</td></tr>`+"\n", string(one.Reason), number(one.Refused), share(one.Refused, r.Requests))
	}
	p.add("</table>\n")
	if len(r.BlockList) > 0 {
		p.add(`<h2 class="next">Blocks that would have started</h2>
<table><tr><th>begins</th><th>subject</th><th>endpoint</th><th class="n">tier</th><th class="n">lasts</th></tr>
`)
		for _, b := range r.BlockList[:min(mostListed, len(r.BlockList))] {
			p.add(`<tr><td class="t">%s</td><td class="name">%s</td><td>%s</td>`, stamp(b.Time), terminal.Visible(b.Subject), b.Endpoint)
			p.add(`<td class="n">%d</td><td class="n">%s</td></tr>`+"\n", b.Tier, lasting(b.Seconds))
		}
		p.add("</table>")
		if rest := r.Blocks - int64(min(mostListed, len(r.BlockList))); rest > 0 {
			p.add(`<p class="quiet more">and %s more</p>`, number(rest))
		}
	}
	p.add("\n</section>")
}

func (p *page) about(r *Report) {
	p.add("<section>\n<h2>About these numbers</h2>\n<ul>\n<li>The Lua that guard runs on Redis decided each request, at the time in the log.</li>\n")
	item := func(n int64, format, one, many string) {
		if n > 0 {
			p.add("<li>"+format+"</li>\n", counted(n, one, many))
		}
	}
	item(r.Exempt, "%s exempt.", "line is", "lines are")
	item(r.Unmatched, "%s no endpoint of the policy.", "line matches", "lines match")
	item(r.Limited, "The service itself answered %s with 429.", "request", "requests")
	item(r.Duplicates, "%s by ID and not charged.", "request was a duplicate", "requests were duplicates")
	for _, note := range r.Notes {
		p.add("<li>%s</li>\n", note)
	}
	if r.Unreadable > 0 {
		p.add("<li>%s not decided:\n<ul>", counted(r.Unreadable, "line was", "lines were"))
		for _, bad := range r.Bad {
			p.add("<li>line %d: %s</li>", bad.Number, bad.Why)
		}
		p.add("</ul></li>\n")
	}
	p.add("</ul>\n</section>\n")
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

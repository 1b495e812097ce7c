// Package docs draws the chart of docs/performance.md from its table.
package docs

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "draw the chart again")

const chart = "performance.svg"

// A series is a row of docs/performance.md: decisions per second by callers at once.
type series struct {
	name      string
	perSecond []int
}

// throughput reads the page's table of decisions per second.
func throughput(t *testing.T) (callers []string, all []series) {
	t.Helper()
	page, err := os.ReadFile("performance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "| callers at once |")
	if !ok {
		t.Fatal("docs/performance.md has no table of callers at once")
	}
	for i, line := range strings.Split(table, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch {
		case i == 0:
			callers = cells
		case i == 1:
		case !strings.HasPrefix(line, "|"):
			return callers, all
		default:
			s := series{name: strings.ReplaceAll(cells[0], "`", "")}
			for _, cell := range cells[1:] {
				n, err := strconv.Atoi(strings.ReplaceAll(cell, ",", ""))
				if err != nil {
					t.Fatalf("docs/performance.md: %s: %v", s.name, err)
				}
				s.perSecond = append(s.perSecond, n)
			}
			all = append(all, s)
		}
	}
	return callers, all
}

func drawChart(callers []string, all []series) []byte {
	const left, right, top, bottom, most = 70, 560, 50, 350, 210_000
	x := func(i int) int { return left + 40 + i*(right-left-80)/(len(callers)-1) }
	y := func(n int) int { return bottom - n*(bottom-top)/most }
	var b bytes.Buffer
	fmt.Fprintln(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 850 400" font-family="system-ui, sans-serif" font-size="13">`)
	fmt.Fprintln(&b, `<title>Decisions per second, by callers at once</title>`)
	fmt.Fprintln(&b, `<style>text{fill:#1f2328}.minor{fill:#59636e}.grid{stroke:#d1d9e0}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.minor{fill:#9198a1}.grid{stroke:#3d444d}}</style>`)
	fmt.Fprintln(&b, `<text x="20" y="28" font-weight="600">Decisions per second, by callers at once</text>`)
	for n := 0; n <= most; n += 30_000 {
		fmt.Fprintf(&b, `<path d="M%d %dH%d" class="grid"/><text x="%d" y="%d" text-anchor="end" class="minor">%d</text>`+"\n", left, y(n), right, left-8, y(n)+4, n)
	}
	for i, c := range callers {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" class="minor">%s</text>`+"\n", x(i), bottom+22, c)
	}
	for k, s := range all {
		color := []string{"#0969da", "#54aeff", "#8250df", "#cf222e", "#bf8700", "#1a7f37"}[k%6]
		points := make([]string, len(s.perSecond))
		for i, n := range s.perSecond {
			points[i] = fmt.Sprintf("%d,%d", x(i), y(n))
			fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="3.5" fill="%s"/>`, x(i), y(n), color)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
		fmt.Fprintf(&b, `<path d="M580 %dh18" stroke="%s" stroke-width="3"/><text x="605" y="%d" font-size="12">%s</text>`+"\n", 66+24*k, color, 70+24*k, s.name)
	}
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

// TestPerformance_chartIsOfTheTable fails if the chart differs from the table: go test ./docs -update draws it again.
func TestPerformance_chartIsOfTheTable(t *testing.T) {
	callers, all := throughput(t)
	if len(callers) != 4 || len(all) < 4 {
		t.Fatalf("%d columns, %d rows", len(callers), len(all))
	}
	want := drawChart(callers, all)
	if *update {
		if err := os.WriteFile(chart, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(chart); err != nil || !bytes.Equal(have, want) {
		t.Errorf("docs/%s differs from the table: draw it again with `go test ./docs -update` (%v)", chart, err)
	}
}

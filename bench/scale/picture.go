package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// picture draws the calls per second to the busiest of ten shards, by processes, with and without prefetch.
func (t *table) picture() []byte {
	const left, right, top, bottom = 70, 560, 50, 350
	x := func(processes int) int { return left + 40 + int(math.Log10(float64(processes)/10)*(right-left-80)/2) }
	y := func(calls float64) int { return bottom - int(math.Log10(calls/100)*(bottom-top)/4) } // 100 to a million
	var b bytes.Buffer
	fmt.Fprintln(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 850 400" font-family="system-ui, sans-serif" font-size="13">`)
	fmt.Fprintln(&b, `<title>Calls per second to the busiest of ten shards</title>`)
	fmt.Fprintln(&b, `<style>text{fill:#1f2328}.minor{fill:#59636e}.grid{stroke:#d1d9e0}.limit{stroke:#1f2328}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.minor{fill:#9198a1}.grid{stroke:#3d444d}.limit{stroke:#e6edf3}}</style>`)
	fmt.Fprintln(&b, `<text x="20" y="28" font-weight="600">Calls per second to the busiest of ten shards, by processes with 100 requests per second each</text>`)
	for _, calls := range []int{100, 1000, 10_000, 100_000, 1_000_000} {
		fmt.Fprintf(&b, `<path d="M%d %dH%d" class="grid"/><text x="%d" y="%d" text-anchor="end" class="minor">%d</text>`+"\n", left, y(float64(calls)), right, left-8, y(float64(calls))+4, calls)
	}
	for _, processes := range []int{10, 100, 1000} {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" class="minor">%d</text>`+"\n", x(processes), bottom+22, processes)
	}
	capacity := 0.0
	for k, prefetch := range []string{"none", "100 for 100ms", "1000 for 1s"} {
		color := []string{"#cf222e", "#54aeff", "#0969da"}[k]
		var points []string
		for i := range t.cluster {
			if o := &t.cluster[i]; o.prefetch() == prefetch {
				capacity = 1 / o.service.Seconds()
				points = append(points, fmt.Sprintf("%d,%d", x(o.processes), y(o.hottest())))
				fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="3.5" fill="%s"/>`, x(o.processes), y(o.hottest()), color)
			}
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
		fmt.Fprintf(&b, `<path d="M580 %dh18" stroke="%s" stroke-width="3"/><text x="605" y="%d" font-size="12">prefetch: %s</text>`+"\n", 66+24*k, color, 70+24*k, prefetch)
	}
	fmt.Fprintf(&b, `<path d="M%d %dH%d" class="limit" stroke-dasharray="5 4"/><text x="%d" y="%d" font-size="12">what one shard serves</text>`+"\n", left, y(capacity), right, right+8, y(capacity)+4)
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

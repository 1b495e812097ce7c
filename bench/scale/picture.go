package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
)

// picture draws the calls a second to the hottest of ten shards, by processes, with and without prefetch.
func (t *table) picture() []byte {
	const left, right, top, bottom = 70, 560, 50, 350
	x := func(processes int) int { return left + 40 + int(math.Log10(float64(processes)/10)*(right-left-80)/2) }
	y := func(calls float64) int { return bottom - int(math.Log10(calls/100)*(bottom-top)/4) } // 100 to a million
	var b bytes.Buffer
	fmt.Fprintln(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 850 400" font-family="system-ui, sans-serif" font-size="13">`)
	fmt.Fprintln(&b, `<title>Calls a second to the hottest of ten shards</title><rect width="850" height="400" fill="#ffffff"/>`)
	fmt.Fprintln(&b, `<text x="20" y="28" fill="#1f2328" font-weight="600">Calls a second to the hottest of ten shards, by processes with 100 requests a second each</text>`)
	for _, calls := range []int{100, 1000, 10_000, 100_000, 1_000_000} {
		fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#d1d9e0"/><text x="%d" y="%d" text-anchor="end" fill="#59636e">%d</text>`+"\n", left, y(float64(calls)), right, left-8, y(float64(calls))+4, calls)
	}
	for _, processes := range []int{10, 100, 1000} {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" fill="#59636e">%d</text>`+"\n", x(processes), bottom+22, processes)
	}
	capacity := 0.0
	for k, prefetch := range []string{"none", "100 for 100ms", "1000 for 1s"} {
		color := []string{"#cf222e", "#54aeff", "#0969da"}[k]
		var points []string
		for i := range t.cluster {
			if o := &t.cluster[i]; o.scene.shards == 10 && !o.gcra && o.prefetch() == prefetch {
				capacity = 1 / o.service.Seconds()
				points = append(points, fmt.Sprintf("%d,%d", x(o.processes), y(o.hottest())))
				fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="3.5" fill="%s"/>`, x(o.processes), y(o.hottest()), color)
			}
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
		fmt.Fprintf(&b, `<path d="M580 %dh18" stroke="%s" stroke-width="3"/><text x="605" y="%d" fill="#1f2328" font-size="12">prefetch: %s</text>`+"\n", 66+24*k, color, 70+24*k, prefetch)
	}
	fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#1f2328" stroke-dasharray="5 4"/><text x="%d" y="%d" fill="#1f2328" font-size="12">what one shard serves</text>`+"\n", left, y(capacity), right, right+8, y(capacity)+4)
	fmt.Fprintln(&b, "</svg>")
	return b.Bytes()
}

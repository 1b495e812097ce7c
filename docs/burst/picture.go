package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed limiters.svg.tmpl
var pictureText string

var pictureTemplate = template.Must(template.New("picture").Parse(pictureText))

// Positions in the picture, in pixels.
const (
	left, right = 212, 688 // the run
	top, each   = 62, 84   // the first limiter's row, and the height of a row
	zero        = 56       // in a row: the curve at no admission
	pixelsEach  = 2.2      // the height of one admission in the curve
)

// A row is one limiter's part of the picture.
type row struct {
	run
	Y                               int
	Over                            bool
	AdmittedX, RefusedX             []string
	Curve                           string
	MostX, MostY, LimitY, PartingAt string
}

// picture draws the runs, one below the other.
func picture(runs []run) ([]byte, error) {
	var rows []row
	for i, r := range runs {
		x, y := peak(r)
		rows = append(rows, row{
			run: r, Y: top + i*each, Over: r.Most() > limit,
			AdmittedX: xsOf(r.Admitted), RefusedX: xsOf(r.Refused), Curve: curve(r.Admitted),
			MostX: x, MostY: y, LimitY: yOf(limit),
			PartingAt: yOf(limit + 0.5), // a curve at the limit is not over it
		})
	}
	bottom := top + len(rows)*each
	var out bytes.Buffer
	err := pictureTemplate.Execute(&out, map[string]any{
		"Rows": rows, "Offered": xsOf(offered()), "Requests": len(offered()), "Limit": limit,
		"Left": left, "Right": right, "Zero": zero, "Bottom": bottom, "Height": bottom + 34,
		"Edge": xOf(window), "Seconds": seconds(),
	})
	return out.Bytes(), err
}

// xOf returns the position of a moment.
func xOf(at time.Duration) string {
	return fmt.Sprintf("%.1f", left+float64(right-left)*at.Seconds()/length.Seconds())
}

func xsOf(times []time.Duration) []string {
	all := make([]string, len(times))
	for i, at := range times {
		all[i] = xOf(at)
	}
	return all
}

// yOf returns the position of a count in its row.
func yOf(count float64) string { return fmt.Sprintf("%.1f", zero-pixelsEach*count) }

// curve returns a path of the last minute's admissions: it rises at each one and falls a minute later.
func curve(admitted []time.Duration) string {
	var path strings.Builder
	fmt.Fprintf(&path, "M%d %d", left, zero)
	enter, leave, count := 0, 0, 0
	for enter < len(admitted) || leave < len(admitted) && admitted[leave]+window < length {
		at := length
		if enter < len(admitted) {
			at = admitted[enter]
		}
		if leave < enter && admitted[leave]+window <= at {
			at = admitted[leave] + window
			leave++
			count--
		} else {
			enter++
			count++
		}
		fmt.Fprintf(&path, "H%sV%s", xOf(at), yOf(float64(count)))
	}
	fmt.Fprintf(&path, "H%d", right)
	return path.String()
}

// peak returns where the count first reaches its maximum.
func peak(r run) (x, y string) {
	for _, at := range r.Admitted {
		if n := inWindow(r.Admitted, at); n == r.Most() {
			return xOf(at), yOf(float64(n))
		}
	}
	return "", ""
}

// A second is a label of the axis.
type second struct {
	X    string
	Text int
}

func seconds() []second {
	var all []second
	for s := 0; s <= int(length.Seconds()); s += 30 {
		all = append(all, second{xOf(time.Duration(s) * time.Second), s})
	}
	return all
}

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"time"
)

//go:embed picture.svg.tmpl
var pictureText string

var pictureTemplate = template.Must(template.New("picture").Parse(pictureText))

// Positions in a picture, in pixels.
const (
	left, right   = 104, 676 // the run
	ceiling, zero = 88, 148  // the curve at 20 admissions and at none
	pixelsEach    = (zero - ceiling) / 20.0
)

// picture draws a run.
func picture(r run) ([]byte, error) {
	var out bytes.Buffer
	err := pictureTemplate.Execute(&out, map[string]any{
		"Run": r, "Most": r.Most(), "Over": r.Most() > limit, "Limit": limit,
		"Admitted": xsOf(r.Admitted), "Refused": xsOf(r.Refused), "Curve": curve(r.Admitted),
		"Left": left, "Right": right, "Zero": zero, "LimitY": yOf(limit),
		// Half a request above the limit: a curve at the limit is not over it.
		"Parting": zero - pixelsEach*(limit+0.5),
		"Seconds": seconds(), "Edge": xOf(window), "Peak": peak(r), "Story": story(r),
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

// yOf returns the position of a count.
func yOf(count int) string { return fmt.Sprintf("%.1f", zero-pixelsEach*float64(count)) }

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
		fmt.Fprintf(&path, "H%sV%s", xOf(at), yOf(count))
	}
	fmt.Fprintf(&path, "H%d", right)
	return path.String()
}

// A mark is a number and its position.
type mark struct {
	X, Y string
	Text int
}

// peak marks where the count first reaches its maximum.
func peak(r run) mark {
	for _, at := range r.Admitted {
		if n := inWindow(r.Admitted, at); n == r.Most() {
			return mark{xOf(at), yOf(n), n}
		}
	}
	return mark{}
}

func seconds() []mark {
	var all []mark
	for s := 0; s <= int(length.Seconds()); s += 30 {
		all = append(all, mark{X: xOf(time.Duration(s) * time.Second), Text: s})
	}
	return all
}

// story describes the picture in words.
func story(r run) string {
	return fmt.Sprintf("%d requests are offered: 1 at the start, 10 in the last 9 seconds of the first minute, 12 in the first 9 of the second, "+
		"then one every 4 seconds. %d are admitted and %d refused; in no minute are more than %d admitted.",
		len(r.Admitted)+len(r.Refused), len(r.Admitted), len(r.Refused), r.Most())
}

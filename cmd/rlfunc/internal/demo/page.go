package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlfunc/rlfunc/internal/terminal"
)

const server = "embedded (Redis Functions in-process)"

// A page prints the demo as text.
type page struct {
	out   io.Writer
	style terminal.Style
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

func (p *page) title(number int, title, why string) {
	p.line("\n%s\n   %s", p.style.Bold(fmt.Sprintf("%d. %s", number, title)), p.style.Dim(why))
}

func (p *page) dots(outcomes []bool) string {
	var b strings.Builder
	for _, passed := range outcomes {
		if passed {
			b.WriteString(p.style.Green("●"))
		} else {
			b.WriteString(p.style.Dim("○"))
		}
	}
	return b.String()
}

func (p *page) found(ok bool, text string) {
	if ok {
		p.line("   %s %s", p.style.Green("✓"), text)
	} else {
		p.line("   %s %s", p.style.Red("✗"), text)
	}
}

func (p *page) verdict(v *Verdict) {
	paint := p.style.Green
	if !v.OK {
		paint = p.style.Red
	}
	p.line("\n%s", p.style.Bold(paint(v.Summary)))
}

// A Verdict is the result of a demo.
type Verdict struct {
	Scenarios []Scenario `json:"scenarios"`
	OK        bool       `json:"ok"` // whether all hold
	Summary   string     `json:"summary"`
}

// A Scenario is one situation and its result.
type Scenario struct {
	Name  string `json:"name"` // "fifty_at_once"
	OK    bool   `json:"ok"`
	Found string `json:"found"` // what holds, or the first failure
}

func (v *Verdict) sum() {
	held := 0
	for _, s := range v.Scenarios {
		if s.OK {
			held++
		}
	}
	v.OK = held == len(v.Scenarios)
	word := "FAIL"
	if v.OK {
		word = "PASS"
	}
	v.Summary = fmt.Sprintf("%s: %d of %d scenarios hold on %s", word, held, len(v.Scenarios), server)
}

// A scene is a scenario while it runs.
type scene struct {
	Scenario
	page   *page
	failed bool
}

// row draws a dot per request, in the order of the answers, and returns how many passed. The note is below where 80 columns have no room beside
// the dots.
func (s *scene) row(label string, outcomes []bool, note string) (passed int) {
	for _, ok := range outcomes {
		if ok {
			passed++
		}
	}
	head := fmt.Sprintf("%-14s %3d of %-3d", label, passed, len(outcomes))
	switch {
	case note == "":
	case len(outcomes) > 20:
		note = "\n    " + strings.Repeat(" ", len(head)) + s.page.style.Dim(note)
	default:
		note = "  " + note
	}
	s.page.line("   %s %s%s", head, s.page.dots(outcomes), note)
	return passed
}

// must records a failure unless ok. The first failure becomes the scenario's Found.
func (s *scene) must(ok bool, format string, args ...any) {
	if !ok && !s.failed {
		s.failed, s.Found = true, fmt.Sprintf(format, args...)
	}
}

// found records what holds, unless the scenario has failed.
func (s *scene) found(format string, args ...any) {
	if !s.failed {
		s.Found = fmt.Sprintf(format, args...)
	}
}

package demo

import (
	"fmt"
	"io"
	"strings"

	"github.com/rlfunc/rlfunc/internal/terminal"
)

// A page prints the demo as text.
type page struct {
	out   io.Writer
	style terminal.Style
	mute  bool
}

func (p *page) line(format string, args ...any) {
	if !p.mute {
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

func (p *page) heading(server string, virtual bool) {
	p.line("%s", p.style.Bold("rlfunc demo on "+server))
	if virtual {
		p.line("Time is virtual here: the demo moves the server's clock instead of waiting.")
	} else {
		p.line("Time is real here: the demo waits a few seconds where it must.")
	}
	p.line("")
}

func (p *page) title(number int, title, why string) {
	p.line("\n%s\n   %s", p.style.Bold(fmt.Sprintf("%d. %s", number, title)), p.style.Dim(why))
}

// row draws a dot per request, in the order of the answers. The note is below where 80 columns have no room beside the dots.
func (p *page) row(r Row, outcomes []bool) {
	head := fmt.Sprintf("%-14s %3d of %-3d", r.Label, r.Passed, len(outcomes))
	note := "  " + r.Note
	if len(outcomes) > 20 && r.Note != "" {
		note = "\n   " + strings.Repeat(" ", len(head)+1) + p.style.Dim(r.Note)
	}
	p.line("   %s %s%s", head, p.dots(outcomes), strings.TrimRight(note, " "))
}

func (p *page) dots(outcomes []bool) string {
	var b strings.Builder
	for i := 0; i < len(outcomes); {
		n := i
		for n < len(outcomes) && outcomes[n] == outcomes[i] {
			n++
		}
		if outcomes[i] {
			b.WriteString(p.style.Green(strings.Repeat("●", n-i)))
		} else {
			b.WriteString(p.style.Dim(strings.Repeat("○", n-i)))
		}
		i = n
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

// VerdictFormat is the version of a Verdict's JSON.
const VerdictFormat = 1

// A Verdict is the result of a demo.
type Verdict struct {
	Format      int        `json:"format"`
	Server      string     `json:"server"`
	VirtualTime bool       `json:"virtual_time"` // whether the demo moved the server's clock instead of waiting
	Steps       []Step     `json:"steps"`        // generate, plan, deploy, verify
	Scenarios   []Scenario `json:"scenarios"`
	KeysDeleted int64      `json:"keys_deleted"`
	Held        int        `json:"held"` // number of scenarios that hold
	OK          bool       `json:"ok"`   // whether all hold
	Summary     string     `json:"summary"`
}

// A Step is one step from the source to the server.
type Step struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Scenario is one situation and its result.
type Scenario struct {
	Name  string `json:"name"` // "fifty_at_once"
	Title string `json:"title"`
	Why   string `json:"why"`
	Rows  []Row  `json:"rows"`
	OK    bool   `json:"ok"`
	Found string `json:"found"` // what holds, or the first failure
}

// A Row counts the requests of one part of a scenario.
type Row struct {
	Label   string `json:"label"`
	Passed  int    `json:"passed"`
	Refused int    `json:"refused"`
	Note    string `json:"note,omitempty"`
}

func (v *Verdict) sum() {
	for _, s := range v.Scenarios {
		if s.OK {
			v.Held++
		}
	}
	v.OK = len(v.Scenarios) > 0 && v.Held == len(v.Scenarios)
	word := "FAIL"
	if v.OK {
		word = "PASS"
	}
	v.Summary = fmt.Sprintf("%s: %d of %d scenarios hold on %s", word, v.Held, len(v.Scenarios), v.Server)
}

// A scene is a scenario while it runs.
type scene struct {
	Scenario
	page   *page
	failed bool
}

// row prints the outcomes of requests in the order of their answers. True means passed.
func (s *scene) row(label string, outcomes []bool, note string) Row {
	r := Row{Label: label, Note: note}
	for _, passed := range outcomes {
		if passed {
			r.Passed++
		} else {
			r.Refused++
		}
	}
	s.Rows = append(s.Rows, r)
	s.page.row(r, outcomes)
	return r
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

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

func (p *page) step(s Step) { p.line("  %s  %s", p.style.Bold(fmt.Sprintf("%-8s", s.Name)), s.Text) }

func (p *page) title(number int, title, why string) {
	p.line("\n%s\n   %s", p.style.Bold(fmt.Sprintf("%d. %s", number, title)), p.style.Dim(why))
}

const (
	labelWidth = 14
	perLine    = 50
	noteBeside = 20 // longest row of dots with room for a note, in 80 columns
)

// row draws a dot per request, in the order of the answers.
func (p *page) row(r Row, outcomes []bool) {
	head := fmt.Sprintf("%-*s %3d of %-3d", labelWidth, r.Label, r.Passed, len(outcomes))
	long := len(outcomes) > noteBeside
	for len(outcomes) > perLine {
		p.line("   %s %s", head, p.dots(outcomes[:perLine]))
		outcomes, head = outcomes[perLine:], strings.Repeat(" ", len(head))
	}
	if r.Note == "" || long {
		p.line("   %s %s", head, p.dots(outcomes))
	} else {
		p.line("   %s %s  %s", head, p.dots(outcomes), r.Note)
	}
	if r.Note != "" && long {
		p.line("   %s %s", strings.Repeat(" ", len(head)), p.style.Dim(r.Note))
	}
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

// tally draws a bar, for more requests than row can show.
func (p *page) tally(label string, part, whole int, text string) {
	const width = 30
	n := 0
	if whole > 0 {
		n = min(width, part*width/whole)
	}
	p.line("   %-*s %s%s  %s", labelWidth, label, p.style.Green(strings.Repeat("█", n)), strings.Repeat("░", width-n), text)
}

func (p *page) note(format string, args ...any) {
	p.line("   %s", p.style.Yellow(fmt.Sprintf(format, args...)))
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

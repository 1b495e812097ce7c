package demo

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// ColorFor tells whether escape codes are welcome on w: a terminal that is not dumb, and NO_COLOR is not set.
func ColorFor(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// A page prints the demo for a person.
type page struct {
	out   io.Writer
	color bool
	mute  bool
}

func (p *page) line(format string, args ...any) {
	if !p.mute {
		fmt.Fprintf(p.out, format+"\n", args...)
	}
}

func (p *page) paint(code, text string) string {
	if !p.color || text == "" {
		return text
	}
	return code + text + plain
}

func (p *page) heading(server string, virtual bool) {
	p.line("%s", p.paint(bold, "rlfunc demo on "+server))
	if virtual {
		p.line("Time is virtual here: the demo moves the server's clock instead of waiting.")
	} else {
		p.line("Time is real here: the demo waits a few seconds where it must.")
	}
	p.line("")
}

func (p *page) step(s Step) { p.line("  %s  %s", p.paint(bold, fmt.Sprintf("%-8s", s.Name)), s.Text) }

func (p *page) title(number int, title, why string) {
	p.line("\n%s\n   %s", p.paint(bold, fmt.Sprintf("%d. %s", number, title)), p.paint(dim, why))
}

const (
	labelWidth = 14
	perLine    = 50
	noteBeside = 20 // rows of so many dots have room for a note beside them, on 80 columns
)

// row draws one dot a request, in the order of the answers.
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
		p.line("   %s %s", strings.Repeat(" ", len(head)), p.paint(dim, r.Note))
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
			b.WriteString(p.paint(green, strings.Repeat("●", n-i)))
		} else {
			b.WriteString(p.paint(dim, strings.Repeat("○", n-i)))
		}
		i = n
	}
	return b.String()
}

// tally draws a bar where a dot a request would be too many.
func (p *page) tally(label string, part, whole int, text string) {
	const width = 30
	n := 0
	if whole > 0 {
		n = min(width, part*width/whole)
	}
	p.line("   %-*s %s%s  %s", labelWidth, label, p.paint(green, strings.Repeat("█", n)), strings.Repeat("░", width-n), text)
}

func (p *page) note(format string, args ...any) {
	p.line("   %s", p.paint(yellow, fmt.Sprintf(format, args...)))
}

func (p *page) found(ok bool, text string) {
	if ok {
		p.line("   %s %s", p.paint(green, "✓"), text)
	} else {
		p.line("   %s %s", p.paint(red, "✗"), text)
	}
}

func (p *page) verdict(v *Verdict) {
	code := bold + green
	if !v.OK {
		code = bold + red
	}
	p.line("\n%s", p.paint(code, v.Summary))
}

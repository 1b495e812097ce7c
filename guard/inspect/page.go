package inspect

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// A page writes lines and keeps the writer's first error.
type page struct {
	w     io.Writer
	style terminal.Style
	now   time.Time
	err   error
}

func (p *page) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, strings.TrimRight(fmt.Sprintf(format, args...), " ")+"\n")
	}
}

func (p *page) head(text string) { p.line("\n%s", p.style.Bold(text)) }

// WriteText writes the report as text for 80 columns.
func (rep *Report) WriteText(w io.Writer, style terminal.Style) error {
	p := &page{w: w, style: style, now: rep.Now}
	if rep.Subject == globalSubject && len(rep.Limits)+len(rep.Budgets) == 0 {
		p.line("no global limits or budgets")
		return p.err
	}
	p.line("%s  namespace %s, %s", p.style.Bold(terminal.Visible(rep.Subject)), rep.Namespace, rep.Now.UTC().Format("2006-01-02 15:04:05 UTC"))
	p.verdict(rep)
	p.limits(rep.Limits)
	p.budgets(rep)
	for i := range rep.Blocks {
		p.attempts(&rep.Blocks[i])
	}
	p.challenges(rep.Challenges)
	return p.err
}

// verdict prints whether the subject is refused, why and for how long.
func (p *page) verdict(rep *Report) {
	refused := p.style.Red("REFUSED")
	by := "the policy's overrides"
	if rep.Override != nil && rep.Override.Runtime {
		by = "an override (rlfunc override list)"
	}
	switch o := rep.Override; {
	case o != nil && o.Allow:
		p.line("%s by %s, whatever else", p.style.Green("never limited"), by)
		return
	case o != nil && o.Deny && o.Runtime:
		p.line("%s by %s", refused, by)
	case o != nil && o.Deny:
		p.line("%s always: %s deny it", refused, by)
	case o != nil:
		p.line("has %d times each limit and budget, by %s", o.Multiply, by)
	}
	for _, b := range rep.Budgets {
		if b.TopUp > 0 {
			p.line("has %s more of budget %s, by an override (rlfunc override list)", b.amount(b.TopUp), b.Name)
		}
	}
	if b := rep.Block; b != nil {
		by := "hand"
		if b.Reason != "" {
			by += ": " + terminal.Visible(b.Reason)
		}
		p.line("%s everywhere for %s, until %s: blocked by %s", refused, Words(time.Duration(b.RetryAfter)), When(b.Until, p.now), by)
	}
	for _, a := range rep.Blocks {
		if b := a.Block; b != nil {
			p.line("%s at %s for %s, until %s: block %s, tier %d", refused, strings.Join(a.Endpoints, ", "), Words(time.Duration(b.RetryAfter)), When(b.Until, p.now), a.Name, b.Tier)
		}
	}
	for i := range rep.Limits {
		if l := &rep.Limits[i]; !l.Allowed && !l.Shadow {
			where := "everywhere"
			if l.Endpoint != "" {
				where = "at " + l.Endpoint
			}
			if l.Kind == policy.Concurrency {
				p.line("%s %s while %d of %d run: limit %s", refused, where, l.Used, l.Limit, l.Name)
				continue
			}
			p.line("%s %s for %s, until %s: limit %s", refused, where, Words(time.Duration(l.RetryAfter)), When(*l.AdmitsAt, p.now), l.Name)
		}
	}
	if rep.Penalty > 0 {
		p.line("%s requests with a cost for %s, until %s: a budget was exceeded", refused, Words(time.Duration(rep.Penalty)), p.after(rep.Penalty))
	}
	for i := range rep.Budgets {
		if b := &rep.Budgets[i]; rep.Penalty == 0 {
			p.refusals(refused, b)
		}
	}
	switch {
	case !rep.Known && rep.Subject == "global":
		p.line("no requests count")
	case !rep.Known && len(rep.Limits)+len(rep.Budgets) == 0:
		p.line("not blocked; no limit or budget is known that counts this subject")
	case !rep.Known:
		p.line("nothing recorded: guard has counted no request of this subject lately")
	case !rep.Refused:
		p.line("%s now", p.style.Green("allowed"))
	}
}

// refusals prints which requests a budget refuses.
func (p *page) refusals(refused string, b *Budget) {
	for _, e := range b.Refuses {
		where := "at " + strings.Join(e.Endpoints, ", ")
		if e.RetryAfter == 0 {
			p.line("%s %s always: a request reserves %s, more than all of budget %s", refused, where, b.amount(e.Amount), b.Name)
			continue
		}
		p.line("%s %s for %s, until %s: a request reserves %s, and budget %s has %s left", refused, where, Words(time.Duration(e.RetryAfter)), p.after(e.RetryAfter),
			b.amount(e.Amount), b.Name, b.Remaining)
	}
	if b.Exhausted && len(b.Refuses) == 0 {
		p.line("%s requests with a cost for %s, until %s: budget %s", refused, Words(time.Duration(b.RetryAfter)), p.after(b.RetryAfter), b.Name)
	}
}

func (p *page) after(s Seconds) string { return When(p.now.Add(time.Duration(s)), p.now) }

func (p *page) limits(rows []Limit) {
	for i := range rows {
		l := &rows[i]
		if i == 0 || l.Endpoint != rows[i-1].Endpoint {
			title := "limits of every endpoint"
			if l.Endpoint != "" {
				title = "limits at " + l.Endpoint
			}
			p.head(title)
		}
		most := l.most()
		state := fmt.Sprintf("%d left", l.Remaining)
		paint := p.style.Green
		switch {
		case !l.Allowed && l.Kind == policy.Concurrency && l.Shadow:
			paint, state = p.style.Yellow, "would refuse"
		case !l.Allowed && l.Kind == policy.Concurrency:
			paint, state = p.style.Red, "admits again when one ends"
		case !l.Allowed && l.Shadow:
			paint, state = p.style.Yellow, "would refuse for "+Words(time.Duration(l.RetryAfter))
		case !l.Allowed:
			paint, state = p.style.Red, "admits again at "+When(*l.AdmitsAt, p.now)
		case l.Used > 0 && l.ResetAfter > 0:
			state += ", new in " + Words(time.Duration(l.ResetAfter))
		}
		p.line("  %-12s %s %-20s %s", l.Name, paint(bar(l.Used, most, p.style.ASCII)),
			fmt.Sprintf("%d of %d %s", l.Used, most, l.span()), state)
	}
}

// span describes when the uses of a limit count together.
func (l *Limit) span() string {
	if l.Kind == policy.Concurrency {
		return "at the same time"
	}
	if l.Every != "" {
		return "every " + l.Every + ", " + l.Zone
	}
	return "in " + Words(time.Duration(l.Window))
}

func (p *page) budgets(rep *Report) {
	if len(rep.Budgets) > 0 {
		p.head("budgets")
	}
	for _, b := range rep.Budgets {
		paint := p.style.Green
		if b.Exhausted {
			paint = p.style.Red
		}
		amount, span := b.amount(b.Budget), Words(time.Duration(b.Window))
		if b.Every != "" {
			span = "this " + b.Every
		}
		p.line("  %-12s %s %-20s %s left", b.Name, paint(bar(int64(b.Spent), int64(b.Budget), p.style.ASCII)),
			fmt.Sprintf("%s of %s in %s", b.Spent, amount, span), b.Remaining)
	}
}

func (p *page) attempts(rep *Attempts) {
	p.head("attempts, block " + rep.Name)
	for i, t := range rep.Tiers {
		p.line("  %-12s %s %-20s then blocked %s", fmt.Sprintf("tier %d", i+1), p.style.Yellow(bar(t.Count, t.Threshold, p.style.ASCII)),
			fmt.Sprintf("%d of %d in %s", t.Count, t.Threshold, Words(time.Duration(t.Window))), Words(time.Duration(t.Block)))
	}
	if rep.Strikes > 0 {
		var when []string
		for _, at := range rep.StrikeTimes[max(0, len(rep.StrikeTimes)-3):] {
			when = append(when, When(at, p.now))
		}
		p.line("  strikes that count: %d, the last %s", rep.Strikes, strings.Join(when, ", "))
	}
}

func (p *page) challenges(all []Challenge) {
	if len(all) > 0 {
		p.head("challenges")
	}
	for _, c := range newest(p, all, "challenges") {
		text := fmt.Sprintf("  %-8s %-12s issued %s, known until %s", c.State, terminal.Visible(c.Token), When(c.Issued, p.now), When(c.Expires, p.now))
		if c.Payload != "" {
			text += ", for " + terminal.Visible(c.Payload)
		}
		p.line("%s", text)
	}
}

// newest returns the last ten, and prints the number of the others.
func newest[T any](p *page, all []T, what string) []T {
	const shown = 10
	if n := len(all) - shown; n > 0 {
		p.line("  %s", p.style.Dim(fmt.Sprintf("%d older %s: see --json", n, what)))
		return all[n:]
	}
	return all
}

// Words formats a duration with its two largest units, rounded up: "5 s", "4 min 58 s", "2 h 3 min", "30 d".
func Words(d time.Duration) string {
	seconds := int64((d + time.Second - 1) / time.Second)
	switch {
	case d <= 0:
		return "0 s"
	case d < time.Second:
		return fmt.Sprintf("%d ms", (d+time.Millisecond-1)/time.Millisecond)
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return two(seconds, 60, "min", 1, "s")
	case seconds < 86400:
		return two((seconds+59)/60*60, 3600, "h", 60, "min")
	}
	return two((seconds+3599)/3600*3600, 86400, "d", 3600, "h")
}

func two(seconds, large int64, largeName string, small int64, smallName string) string {
	text := fmt.Sprintf("%d %s", seconds/large, largeName)
	if rest := seconds % large / small; rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, smallName)
	}
	return text
}

// When formats a time in UTC, with the date if that is not the date of now.
func When(at, now time.Time) string {
	at, now = at.UTC(), now.UTC()
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04:05")
	}
	return at.Format("2006-01-02 15:04:05")
}

const barCells = 16

// bar draws the used share of most.
func bar(used, most int64, ascii bool) string {
	full, empty := "█", "░"
	if ascii {
		full, empty = "#", "-"
	}
	n := barCells
	if most > 0 && used < most {
		n = int(float64(used) / float64(most) * barCells)
		if used > 0 {
			n = max(n, 1)
		}
	}
	return strings.Repeat(full, n) + strings.Repeat(empty, barCells-n)
}

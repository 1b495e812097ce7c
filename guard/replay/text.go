package replay

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// The most rows of the text's tables; the report has more.
const (
	fewSubjects = 10
	fewBlocks   = 5
)

// WriteText writes the report as text for a terminal. It quotes names from the log that are not printable.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s lines", cmp.Or(r.Log, "-"), number(r.Lines))
	if r.Requests > 0 {
		fmt.Fprintf(&b, ", %s to %s", stamp(r.First), stamp(r.Last))
	}
	fmt.Fprintf(&b, "\n%s\n", r.Verdict())
	table(&b, "reason\trefused\tshare of all", len(r.Reasons), func(i int) string {
		c := r.Reasons[i]
		return fmt.Sprintf("%s\t%s\t%s", c.Reason, number(c.Refused), share(c.Refused, r.Requests))
	})
	table(&b, "limit\tkind\tadmits\trefused\talone", len(r.Limits), func(i int) string {
		l := &r.Limits[i]
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", l.Title()+l.mark(), l.Kind, l.rate(), number(l.Refused), number(l.Alone))
	})
	table(&b, "endpoint\trequests\tallowed\trefused\tshare", len(r.Endpoints), func(i int) string {
		e := &r.Endpoints[i]
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s", e.Name, number(e.Requests), number(e.Allowed), number(e.Refused), share(e.Refused, e.Requests))
	})
	table(&b, "subject\trequests\trefused\tshare\tlast reason\tlast refused", min(len(r.Top), fewSubjects), func(i int) string {
		s := &r.Top[i]
		return fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", terminal.Visible(s.Subject), number(s.Requests), number(s.Refused), share(s.Refused, s.Requests), s.Reason, stamp(s.Last))
	})
	if more := r.Hit - fewSubjects; more > 0 {
		fmt.Fprintf(&b, "and %s more of %s subjects\n", number(more), number(r.Subjects))
	}
	table(&b, "block begins\tsubject\tendpoint\ttier\tlasts\tstrikes", min(len(r.BlockList), fewBlocks), func(i int) string {
		k := &r.BlockList[i]
		return fmt.Sprintf("%s\t%s\t%s\t%d\t%s\t%d", stamp(k.Time), terminal.Visible(k.Subject), k.Endpoint, k.Tier, lasting(k.Seconds), k.Strikes)
	})
	if more := r.Blocks - fewBlocks; more > 0 {
		fmt.Fprintf(&b, "and %s more blocks\n", number(more))
	}
	r.writeRest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// Verdict returns the report in one sentence.
func (r *Report) Verdict() string {
	name := cmp.Or(r.Policy, "the policy")
	switch {
	case r.Requests == 0:
		return name + " has no endpoint that matches a request of this log"
	case r.Refused == 0 && !r.Complete:
		return fmt.Sprintf("%s would have allowed all %s requests, as far as the log tells", name, number(r.Requests))
	case r.Refused == 0:
		return fmt.Sprintf("%s would have allowed all %s requests", name, number(r.Requests))
	}
	return fmt.Sprintf("%s would have refused %s of %s requests (%s), of %s of %s",
		name, number(r.Refused), number(r.Requests), share(r.Refused, r.Requests), number(r.Hit), counted(r.Subjects, "subject", "subjects"))
}

func (r *Report) writeRest(b *strings.Builder) {
	var rest []string
	add := func(n int64, one, more string) {
		if n > 0 {
			rest = append(rest, counted(n, one, more))
		}
	}
	add(r.Exempt, "line is exempt", "lines are exempt")
	add(r.Unmatched, "line matches no endpoint of the policy", "lines match no endpoint of the policy")
	add(r.Limited, "request that the service itself answered with 429", "requests that the service itself answered with 429")
	add(r.Duplicates, "duplicate", "duplicates")
	add(r.Unreadable, "line not decided", "lines not decided")
	for _, bad := range r.Bad {
		rest = append(rest, "  "+bad.String())
	}
	if more := r.Unreadable - int64(len(r.Bad)); more > 0 {
		rest = append(rest, fmt.Sprintf("  and %s more", number(more)))
	}
	rest = append(rest, r.Notes...)
	if len(rest) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(rest, "\n"))
	}
}

func table(b *strings.Builder, head string, rows int, row func(i int) string) {
	if rows == 0 {
		return
	}
	b.WriteByte('\n')
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.ToUpper(head))
	for i := range rows {
		fmt.Fprintln(t, row(i))
	}
	t.Flush()
	for line := range strings.Lines(text.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

func (l *Limit) mark() string {
	switch {
	case l.Global && l.Shadow:
		return " (global, shadow)"
	case l.Global:
		return " (global)"
	case l.Shadow:
		return " (shadow)"
	}
	return ""
}

func (l *Limit) rate() string { return l.Limit + " in " + lasting(l.Window) }

// number formats 1234567 as 1,234,567.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// counted returns a number with its singular or plural noun.
func counted(n int64, one, more string) string {
	if n == 1 {
		more = one
	}
	return number(n) + " " + more
}

// share returns a part in percent; a small part is "< 0.1 %", not 0.
func share(part, of int64) string {
	switch p := float64(part) / float64(max(of, 1)) * 100; {
	case part == 0:
		return "0 %"
	case p < 0.1:
		return "< 0.1 %"
	default:
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// lasting formats seconds as policies do: 1m30s, 1d.
func lasting(s float64) string {
	return policy.FormatDuration(time.Duration(s * float64(time.Second)).Round(time.Microsecond))
}

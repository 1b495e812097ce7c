// Package top shows guards' reports: the most refused subjects, and the limits that refuse them.
package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// Lines returns a report as tables with at most rows rows each, in width columns.
func Lines(in report.Interval, namespace string, rows, width int, s terminal.Style) []string {
	var unreadable []string
	for _, key := range in.Unreadable {
		unreadable = append(unreadable, fmt.Sprintf("key %q holds no report of format 1; delete it, or upgrade rlfunc", key))
	}
	if in.Merged == 0 {
		return append([]string{"no guard of namespace " + namespace + " reports: add guard/report to the services and wait for one interval"}, unreadable...)
	}
	seconds := max(in.Seconds, 0.001)
	share := 0.0
	if in.Requests > 0 {
		share = 100 * float64(in.Refused) / float64(in.Requests)
	}
	processes := "1 process"
	if in.Merged > 1 {
		processes = fmt.Sprintf("%d processes", in.Merged)
	}
	head := fmt.Sprintf("%s  %s, %s to %s", namespace, processes,
		in.At.Add(-time.Duration(seconds*float64(time.Second))).UTC().Format("15:04:05"), in.At.UTC().Format("15:04:05 UTC"))
	lines := []string{
		s.Bold(head),
		fmt.Sprintf("%s requests/s   %s   %d failed", rate(in.Requests, seconds), s.Red(fmt.Sprintf("%s refused/s (%.1f %%)", rate(in.Refused, seconds), share)), in.Failed),
	}
	lines = append(lines, section("refused most", in.Subjects, rows, width, in.Refused, seconds, s)...)
	lines = append(lines, section("refusing limits", in.Limits, rows, width, in.Refused, seconds, s)...)
	return append(lines, unreadable...)
}

// rate formats n per second, with a decimal below 10.
func rate(n int64, seconds float64) string {
	perSecond := float64(n) / seconds
	if perSecond < 10 {
		return fmt.Sprintf("%.1f", perSecond)
	}
	return fmt.Sprintf("%.0f", perSecond)
}

const barWidth = 20

func section(title string, counts []report.Count, rows, width int, all int64, seconds float64, s terminal.Style) []string {
	name := max(width-barWidth-22, 16)
	lines := []string{"", s.Bold(fmt.Sprintf("%-*s %9s %8s", name, strings.ToUpper(title), "REFUSALS", "PER SEC"))}
	if len(counts) == 0 {
		return append(lines, "none")
	}
	full := "█"
	if s.ASCII {
		full = "#"
	}
	for _, c := range counts[:min(rows, len(counts))] {
		bar := strings.Repeat(full, int(barWidth*min(float64(c.N)/float64(max(all, 1)), 1)))
		text := []rune(terminal.Visible(c.Name))
		if len(text) > name {
			text = append(text[:name-3], []rune("...")...)
		}
		about := " "
		if c.Over > 0 {
			about = "~" // an upper bound
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("%-*s %s%8d %8.1f %s", name, string(text), about, c.N, float64(c.N)/seconds, s.Red(bar)), " "))
	}
	if n := len(counts) - rows; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return lines
}

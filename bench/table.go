package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is one run.
type Report struct {
	Started time.Time
	Machine string
	Server  string
	Rounds  int
	Rows    []Row
}

// A Row is one line of the table.
type Row struct {
	Part    string // server, memory, caller, guard or embedded
	Name    string
	Value   Spread
	Unit    string
	P50     *Spread // half of a round's calls took at most this many microseconds
	P99     *Spread // 99 of 100 calls did
	Empty   *Spread // as a multiple of an empty call of the same round
	Beside  string  // what else is to be said: a share of a peer, allocations
	Goals   []Goal
	Failure string // why there is no value
}

// A Goal is a bound on a row.
type Goal struct {
	Text  string
	Got   float64
	Bound float64
	Least bool // Bound is the least, not the most
}

// Met reports whether the bound holds.
func (g Goal) Met() bool {
	if g.Least {
		return g.Got >= g.Bound
	}
	return g.Got <= g.Bound
}

func (r *Report) writeTable(w io.Writer) error {
	measured := r.Machine
	if r.Server != "" {
		measured += ", " + r.Server
	}
	fmt.Fprintf(w, "%s, %s, medians of %d rounds (quarter to quarter in brackets)\n\n", r.Started.Format("2006-01-02 15:04 MST"), measured, r.Rounds)
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "part\twhat\tvalue\t\tp50\tp99\ttimes empty\t\tbeside\tgoal\tmet")
	var missed []string
	goals := 0
	for _, row := range r.Rows {
		cells := []string{row.Part, row.Name, row.Value.format() + " " + row.Unit, row.Value.brackets(), micros(row.P50), micros(row.P99), "", ""}
		if row.Empty != nil {
			cells[6], cells[7] = row.Empty.format(), row.Empty.brackets()
		}
		if row.Failure != "" {
			cells = []string{row.Part, row.Name, "failed: " + row.Failure, "", "", "", "", ""}
		}
		var texts []string
		met := ""
		for _, g := range row.Goals {
			texts = append(texts, g.Text)
			goals++
			if g.Met() && row.Failure == "" {
				if met == "" {
					met = "yes"
				}
				continue
			}
			met = "NO"
			missed = append(missed, fmt.Sprintf("%s: %s, got %s", row.Name, g.Text, number(g.Got)))
		}
		fmt.Fprintln(t, strings.Join(append(cells, row.Beside, strings.Join(texts, ", "), met), "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	switch {
	case goals == 0:
	case len(missed) == 0:
		fmt.Fprintf(w, "\nAll %d goals are met.\n", goals)
	default:
		fmt.Fprintf(w, "\nMissed %d of %d goals: %s\n", len(missed), goals, strings.Join(missed, "; "))
	}
	return nil
}

// micros is a row's latency, empty where it has none.
func micros(s *Spread) string {
	if s == nil {
		return ""
	}
	return s.format() + " us"
}

func (s Spread) format() string { return number(s.Median) }

func (s Spread) brackets() string {
	if s.Low == s.High {
		return ""
	}
	return "(" + number(s.Low) + " - " + number(s.High) + ")"
}

// number has as many digits as mean something.
func number(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 100:
		return fmt.Sprintf("%.1f", v)
	case v < 1: // a share of a peer's cost
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

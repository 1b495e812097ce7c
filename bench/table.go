package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// A Report is one run.
type Report struct {
	Started time.Time `json:"started"`
	Machine string    `json:"machine"`
	Server  string    `json:"server,omitempty"`
	Rounds  int       `json:"rounds"`
	Rows    []Row     `json:"rows"`
}

// A Row is one line of the table.
type Row struct {
	Part    string  `json:"part"` // server, memory, caller, guard or embedded
	Name    string  `json:"name"`
	Value   Spread  `json:"value"`
	Unit    string  `json:"unit"`
	P50     *Spread `json:"p50_us,omitempty"`      // half of a round's calls took at most this many microseconds
	P99     *Spread `json:"p99_us,omitempty"`      // 99 of 100 calls did
	Empty   *Spread `json:"times_empty,omitempty"` // as a multiple of an empty call of the same round
	Beside  string  `json:"beside,omitempty"`      // what else is to be said: a share of a peer, allocations
	Goals   []Goal  `json:"goals,omitempty"`
	Failure string  `json:"failure,omitempty"` // why there is no value
}

// A Goal is a bound on a row.
type Goal struct {
	Text  string  `json:"text"`
	Got   float64 `json:"got"`
	Bound float64 `json:"bound"`
	Least bool    `json:"least,omitempty"` // Bound is the least, not the most
}

// Met reports whether the bound holds.
func (g Goal) Met() bool {
	if g.Least {
		return g.Got >= g.Bound
	}
	return g.Got <= g.Bound
}

func (r *Report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
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

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A Run is one of this program.
type Run struct {
	Started time.Time
	Machine string
	Server  string
	Rounds  int
	Rows    []Row
}

// A Row is one line of the table.
type Row struct {
	Part    string // server, caller, guard or serve
	Name    string
	Value   Spread
	Unit    string
	P50     *Spread // half of a round's calls took at most this many microseconds
	P99     *Spread // 99 of 100 calls did
	Callers int     // that call at the same time; 0 where that is not what is compared
	Allocs  float64 // of a call, in this process
	CPU     float64 // of the server for a call, network included, in microseconds
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

func (r *Run) writeTable(w io.Writer) error {
	measured := r.Machine
	if r.Server != "" {
		measured += ", " + r.Server
	}
	fmt.Fprintf(w, "%s, %s, medians of %d rounds (quarter to quarter in brackets)\n\n", r.Started.Format("2006-01-02 15:04 MST"), measured, r.Rounds)
	var single []Row
	crowded := map[string][]Row{}
	for _, row := range r.Rows {
		if row.Callers > 0 {
			crowded[row.Part] = append(crowded[row.Part], row)
		} else {
			single = append(single, row)
		}
	}
	var missed []string
	goals := 0
	judge := func(row Row) (met string) {
		for _, g := range row.Goals {
			goals++
			if g.Met() && row.Failure == "" {
				met = cmp.Or(met, "yes")
				continue
			}
			met = "NO"
			name := row.Name
			if row.Callers > 1 {
				name += fmt.Sprintf(", %d callers", row.Callers)
			}
			missed = append(missed, fmt.Sprintf("%s: %s, got %s", name, g.Text, number(g.Got)))
		}
		return met
	}
	if len(single) > 0 {
		lines := []string{"part\twhat\tvalue\t\tp50\tp99\ttimes empty\tbeside\tgoal\tmet"}
		for _, row := range single {
			cells := []string{row.Part, row.Name, row.Value.format() + " " + row.Unit, row.Value.brackets(), micros(row.P50), micros(row.P99), ""}
			if row.Empty != nil {
				cells[6] = row.Empty.format()
			}
			if row.Failure != "" {
				cells = []string{row.Part, row.Name, "failed: " + row.Failure, "", "", "", ""}
			}
			var texts []string
			for _, g := range row.Goals {
				texts = append(texts, g.Text)
			}
			lines = append(lines, strings.Join(append(cells, row.Beside, strings.Join(texts, ", "), judge(row)), "\t"))
		}
		if err := align(w, lines); err != nil {
			return err
		}
	}
	for _, part := range slices.Sorted(maps.Keys(crowded)) {
		if err := align(w, crowdTable(crowded[part], judge)); err != nil {
			return err
		}
	}
	switch {
	case goals == 0:
	case len(missed) == 0:
		fmt.Fprintf(w, "All %d goals are met.\n", goals)
	default:
		fmt.Fprintf(w, "Missed %d of %d goals:\n  %s\n", len(missed), goals, strings.Join(missed, "\n  "))
	}
	return nil
}

// crowdTable has a line for each way, with a column for each number of callers.
func crowdTable(rows []Row, judge func(Row) string) []string {
	var callers []int
	ways := map[string]map[int]Row{}
	var names []string
	for _, row := range rows {
		if !slices.Contains(callers, row.Callers) {
			callers = append(callers, row.Callers)
		}
		if ways[row.Name] == nil {
			ways[row.Name] = map[int]Row{}
			names = append(names, row.Name)
		}
		ways[row.Name][row.Callers] = row
	}
	head := rows[0].Part + ": " + rows[0].Unit + " by callers"
	for _, n := range callers {
		head += fmt.Sprintf("\t%d", n)
	}
	for _, n := range callers {
		if n == 1 || n == 64 {
			head += fmt.Sprintf("\tp50, p99 of %d", n)
		}
	}
	lines := []string{head + "\tallocations\tserver us a call\tmet"}
	for _, name := range names {
		line, met, last := name, "", Row{}
		for _, n := range callers {
			line += "\t" + ways[name][n].Value.format()
		}
		for _, n := range callers {
			row := ways[name][n]
			if n == 1 || n == 64 {
				line += "\t" + row.P50.format() + ", " + row.P99.format()
			}
			if last.Callers < 64 {
				last = row
			}
			if judged := judge(row); met != "NO" {
				met = cmp.Or(judged, met)
			}
		}
		lines = append(lines, fmt.Sprintf("%s\t%.0f\t%s\t%s", line, last.Allocs, number(last.CPU), met))
	}
	return lines
}

// align prints lines whose cells are separated by tabs, and an empty one.
func align(w io.Writer, lines []string) error {
	var table strings.Builder
	t := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintln(t, line)
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	for line := range strings.Lines(table.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
	fmt.Fprintln(w)
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

// A Spread is what several measurements of one thing say.
type Spread struct {
	Median float64
	Low    float64 // a quarter of the measurements is below
	High   float64 // a quarter is above
}

func spread(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{Median: quantile(sorted, 0.5), Low: quantile(sorted, 0.25), High: quantile(sorted, 0.75)}
}

// undisturbed is the measurement that a tenth of them is below: what other work adds only ever makes them larger.
func undisturbed(values []float64) float64 {
	return quantile(slices.Sorted(slices.Values(values)), 0.1)
}

// quantile interpolates between the two nearest of the sorted values.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func exactly(v float64) Spread { return Spread{Median: v, Low: v, High: v} }

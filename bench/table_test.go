package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func oneRun() *Run {
	rounds := []crowd{{perSecond: 90_000, p50: 170, p99: 900, allocs: 12, serverCPU: 9}, {perSecond: 100_000, p50: 160, p99: 800, allocs: 12, serverCPU: 8}, {perSecond: 110_000, p50: 150, p99: 1700, allocs: 40, serverCPU: 7}}
	goals := func(g Goal, r Row) Row { r.Goals = []Goal{g}; return r }
	of := func(callers int, name string, rounds []crowd) Row {
		r := crowdRow("caller", name, rounds, "decisions/s")
		r.Callers = callers
		return r
	}
	return &Run{Started: time.Unix(0, 0).UTC(), Machine: "a machine", Server: "Redis 7.0.15", Rounds: 3, Rows: []Row{
		{
			Part: "server", Name: "gcra 100/h allowed", Value: Spread{3.4, 3.3, 3.5}, Unit: "us", Empty: &Spread{4.2, 4.1, 4.5}, Beside: "0.613 of redis_rate",
			Goals: []Goal{{Text: "at most 7x", Got: 4.2, Bound: 7}},
		},
		of(1, "gcra 100/h", rounds[:1]),
		of(1, "redis_rate", rounds[2:]),
		goals(Goal{Text: "at least 2.5 of redis_rate", Got: 2, Bound: 2.5, Least: true}, of(64, "gcra 100/h", rounds)),
		of(64, "redis_rate", rounds),
		{Part: "serve", Name: "rlfunc serve", Unit: "requests/s", Failure: "no answer"},
	}}
}

func TestRun_tableHasAColumnForEachNumberOfCallers(t *testing.T) {
	var out strings.Builder
	if err := oneRun().writeTable(&out); err != nil {
		t.Fatal(err)
	}
	want := `1970-01-01 00:00 UTC, a machine, Redis 7.0.15, medians of 3 rounds (quarter to quarter in brackets)

part    what                value                             p50  p99  times empty  beside               goal        met
server  gcra 100/h allowed  3.40 us            (3.30 - 3.50)            4.20         0.613 of redis_rate  at most 7x  yes
serve   rlfunc serve        failed: no answer

caller: decisions/s by callers  1       64      p50, p99 of 1  p50, p99 of 64  allocations  server us a call  met
gcra 100/h                      90000   100000  170.0, 900.0   160.0, 900.0    12           8.00              NO
redis_rate                      110000  100000  150.0, 1700    160.0, 900.0    12           8.00

Missed 1 of 2 goals:
  gcra 100/h, 64 callers: at least 2.5 of redis_rate, got 2.00
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

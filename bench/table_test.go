package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func report() *Report {
	rounds := []crowd{{perSecond: 90_000, p50: 170, p99: 900}, {perSecond: 100_000, p50: 160, p99: 800}, {perSecond: 110_000, p50: 150, p99: 1700}}
	fast := crowdRow("caller", "gcra 100/h", 16, rounds, "decisions/s")
	fast.Beside = "12 allocations a call"
	fast.Goals = []Goal{{Text: "at least 2.5 of redis_rate", Got: 2, Bound: 2.5, Least: true}}
	return &Report{Started: time.Unix(0, 0).UTC(), Machine: "a machine", Server: "Redis 7.0.15", Rounds: 3, Rows: []Row{
		{
			Part: "server", Name: "gcra 100/h allowed", Value: Spread{3.4, 3.3, 3.5}, Unit: "us", Empty: &Spread{4.2, 4.1, 4.5}, Beside: "0.613 of redis_rate",
			Goals: []Goal{{Text: "at most 7x", Got: 4.2, Bound: 7}},
		},
		fast,
		crowdRow("guard", "no limiter", 1, rounds[:1], "requests/s"),
		{Part: "memory", Name: "sliding_log", Unit: "bytes/entry", Failure: "no answer"},
	}}
}

func TestReport_tableHasLatenciesAndQuartilesBesideTheirValue(t *testing.T) {
	var out strings.Builder
	if err := report().writeTable(&out); err != nil {
		t.Fatal(err)
	}
	want := `1970-01-01 00:00 UTC, a machine, Redis 7.0.15, medians of 3 rounds (quarter to quarter in brackets)

part    what                    value                                 p50       p99       times empty                 beside                 goal                        met
server  gcra 100/h allowed      3.40 us             (3.30 - 3.50)                         4.20         (4.10 - 4.50)  0.613 of redis_rate    at most 7x                  yes
caller  gcra 100/h, 16 callers  100000 decisions/s  (95000 - 105000)  160.0 us  900.0 us                              12 allocations a call  at least 2.5 of redis_rate  NO
guard   no limiter, 1 caller    90000 requests/s                      170.0 us  900.0 us
memory  sliding_log             failed: no answer

Missed 1 of 2 goals: gcra 100/h, 16 callers: at least 2.5 of redis_rate, got 2.00
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

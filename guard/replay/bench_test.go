package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// BenchmarkRun replays a day of 3,000 clients, some of them frequent, with bursts of a hundred requests.
func BenchmarkRun(b *testing.B) {
	const lines = 50_000
	two := `
limits:
  - {name: minute, limit: 60, window: 1m}
  - {name: hour, limit: 600, window: 1h}
  - {name: all, by: all, kind: gcra, limit: 200, window: 1s}`
	day := traffic{seed: 1, lines: lines, clients: 3000, gap: 400 * time.Millisecond, bursts: 2000}
	packed := day
	packed.json = true
	for _, bench := range []struct {
		name, policy string
		traffic      traffic
		sequential   bool
	}{
		{"common", two, day, false},
		{"json", two, packed, false},
		{"blocks", two + "\nabuse: {tiers: [{threshold: 5, window: 1m, block: 10m}], escalation: [10m, 1h]}", day, false},
		{"one_by_one", two, traffic{seed: 1, lines: lines / 10, clients: 3000, gap: 400 * time.Millisecond, bursts: 2000}, true},
	} {
		b.Run(bench.name, func(b *testing.B) {
			login := ""
			if bench.name == "blocks" {
				login = "abuse: all"
			}
			p := mustPolicy(b, bench.policy+strings.NewReplacer(", ABOUT_CHAT", "", ", ABOUT_LOGIN", comma(login)).Replace(endpoints))
			log := bench.traffic.String()
			var calls int64
			var report *Report
			b.ReportAllocs()
			for b.Loop() {
				reader, err := accesslog.NewReader(strings.NewReader(log), accesslog.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if report, err = Run(b.Context(), reader, p, Options{sequential: bench.sequential, asked: func(n int64) { calls = n }}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(report.Lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(float64(report.Refused)/float64(report.Requests)*100, "%refused")
			b.ReportMetric(float64(calls)/float64(report.Lines), "calls/line")
		})
	}
}

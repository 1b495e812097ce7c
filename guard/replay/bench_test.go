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
	}{
		{"common", two, day},
		{"json", two, packed},
		{"blocks", two + "\nabuse: {tiers: [{threshold: 5, window: 1m, block: 10m}], escalation: [10m, 1h]}", day},
		{"own", strings.Replace(two, "\n  - {name: all, by: all, kind: gcra, limit: 200, window: 1s}", "", 1), day},
	} {
		b.Run(bench.name, func(b *testing.B) {
			login := ""
			if bench.name == "blocks" {
				login = "abuse: all"
			}
			p := mustPolicy(b, bench.policy+strings.NewReplacer(", ABOUT_CHAT", "", ", ABOUT_LOGIN", comma(login)).Replace(endpoints))
			log := bench.traffic.String()
			var report *Report
			b.ReportAllocs()
			for b.Loop() {
				reader, err := accesslog.NewReader(strings.NewReader(log), accesslog.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if report, err = Run(b.Context(), reader, p, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(report.Lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(float64(report.Refused)/float64(report.Requests)*100, "%refused")
		})
	}
}

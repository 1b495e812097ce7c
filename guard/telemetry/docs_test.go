package telemetry_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/telemetry"
	"github.com/rlfunc/rlfunc/guard/telemetry/prometheus"
)

func TestDocs_theGoIsTheExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```go\n")
	block, _, ok := strings.Cut(rest, "```\n")
	if !ok || !strings.Contains(string(example), block) {
		t.Errorf("the Go of docs/reference/telemetry.md differs from example_test.go:\n%s", block)
	}
}

// section returns the rows of the first table below a heading of docs/reference/telemetry.md.
func section(t *testing.T, heading string) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("docs/reference/telemetry.md has no section %s", heading)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	var rows []string
	for line := range strings.Lines(rest) {
		if strings.HasPrefix(line, "|") {
			rows = append(rows, strings.TrimSpace(line))
		}
	}
	if len(rows) < 3 {
		t.Fatalf("docs/reference/telemetry.md has no table of %s", heading)
	}
	return rows[2:]
}

// families returns Prometheus's metric names by description.
func families(t *testing.T) map[string]string {
	t.Helper()
	metrics, err := prometheus.New()
	if err != nil {
		t.Fatal(err)
	}
	exported, err := telemetry.New(telemetry.Options{
		MeterProvider: metrics.MeterProvider(), Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	play(t, exported)
	all, err := metrics.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, f := range all {
		names[f.GetHelp()] = f.GetName()
	}
	return names
}

func code(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

// keys returns the attributes of all series of an instrument, with their values.
func keys(m metricdata.Metrics, values map[attribute.Key]map[string]bool) (kind string, names []string) {
	found := map[string]bool{}
	add := func(set attribute.Set) {
		for _, kv := range set.ToSlice() {
			found[string(kv.Key)] = true
			if values[kv.Key] == nil {
				values[kv.Key] = map[string]bool{}
			}
			values[kv.Key][kv.Value.String()] = true
		}
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		kind = "up-down counter"
		if data.IsMonotonic {
			kind = "counter"
		}
		for _, p := range data.DataPoints {
			add(p.Attributes)
		}
	case metricdata.Histogram[float64]:
		kind = "histogram"
		for _, p := range data.DataPoints {
			add(p.Attributes)
		}
	}
	return kind, slices.Sorted(maps.Keys(found))
}

func TestDocs_theTableOfInstrumentsIsTheCode(t *testing.T) {
	exported, collect := measured(t)
	play(t, exported)
	prom := families(t)
	var want []string
	values := map[attribute.Key]map[string]bool{}
	for _, m := range collect() {
		kind, names := keys(m, values)
		want = append(want, fmt.Sprintf("| `%s` | `%s` | %s | %s | %s | %s |", m.Name, prom[m.Description], kind, m.Unit, code(names), m.Description))
		delete(prom, m.Description)
	}
	for _, name := range prom {
		t.Errorf("Prometheus has %s, which is not an instrument", name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, section(t, "Metrics")); diff != "" {
		t.Errorf("docs/reference/telemetry.md (-code +table):\n%s", diff)
	}

	// The policy names endpoints and limits, the code all other values.
	rows := map[string]string{}
	for _, row := range section(t, "Attributes") {
		names, rest, _ := strings.Cut(strings.Trim(row, "| "), " | ")
		for name := range strings.SplitSeq(names, ", ") {
			rows[strings.Trim(name, "`")] = rest
		}
	}
	for key, all := range values {
		row, ok := rows[string(key)]
		if !ok {
			t.Errorf("docs/reference/telemetry.md lacks the attribute %s", key)
		}
		for value := range all {
			if key != "rlfunc.endpoint" && key != "rlfunc.limit" && !strings.Contains(row, "`"+value+"`") {
				t.Errorf("docs/reference/telemetry.md lacks %s = %s", key, value)
			}
		}
	}
}

func TestDocs_theTableOfRecordsIsTheCode(t *testing.T) {
	exported, j := logged(t, slog.LevelDebug)
	play(t, exported)
	exported.Observe(t.Context(), guard.BreakerChanged{})
	exported.Observe(t.Context(), guard.Refunded{Subject: ada, Err: errors.New("lost")})
	found := map[string]bool{}
	for _, r := range j.records(t) {
		level, message := r["level"], r["msg"]
		delete(r, "level")
		delete(r, "msg")
		found[fmt.Sprintf("| %s | `%s` | %s |", strings.ToLower(level.(string)), message, code(slices.Sorted(maps.Keys(r))))] = true
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(found)), section(t, "Records")); diff != "" {
		t.Errorf("docs/reference/telemetry.md (-code +table):\n%s", diff)
	}
}

package telemetry_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/telemetry"
)

func measured(t testing.TB) (*telemetry.Telemetry, func() []metricdata.Metrics) {
	t.Helper()
	reader := sdk.NewManualReader()
	exported, err := telemetry.New(telemetry.Options{
		MeterProvider: sdk.NewMeterProvider(sdk.WithReader(reader)),
		Logger:        slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return exported, func() []metricdata.Metrics {
		t.Helper()
		var all metricdata.ResourceMetrics
		if err := reader.Collect(context.Background(), &all); err != nil {
			t.Fatal(err)
		}
		if len(all.ScopeMetrics) != 1 {
			t.Fatalf("instruments of %d scopes", len(all.ScopeMetrics))
		}
		return all.ScopeMetrics[0].Metrics
	}
}

// series returns one line for each series, with its count if it has one.
func series(m metricdata.Metrics) []string {
	var lines []string
	line := func(set attribute.Set, count any) {
		var b strings.Builder
		for _, kv := range set.ToSlice() {
			fmt.Fprintf(&b, "%s=%s ", strings.TrimPrefix(string(kv.Key), "rlfunc."), kv.Value.String())
		}
		lines = append(lines, fmt.Sprintf("%s%v", &b, count))
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			line(p.Attributes, p.Value)
		}
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			line(p.Attributes, p.Count)
		}
	}
	slices.Sort(lines)
	return lines
}

func TestObserve_countDecisions(t *testing.T) {
	exported, collect := measured(t)
	play(t, exported)
	got := map[string][]string{}
	for _, m := range collect() {
		got[m.Name] = slices.DeleteFunc(series(m), func(line string) bool { return strings.HasSuffix(line, " 0") })
	}
	want := map[string][]string{
		"rlfunc.guard.breaker.open": {"3"},
		"rlfunc.guard.decision.duration": {
			"endpoint=chat outcome=allowed 5", "endpoint=chat outcome=refused 3",
			"endpoint=closed outcome=unavailable 2", "endpoint=local outcome=allowed 2",
			"endpoint=login outcome=allowed 1", "endpoint=login outcome=refused 2",
			"endpoint=open outcome=allowed 2", "endpoint=other outcome=error 1",
			"endpoint=pay outcome=allowed 2", "endpoint=pay outcome=error 1", "endpoint=pay outcome=refused 2",
			"endpoint=prove outcome=refused 1",
		},
		"rlfunc.guard.decisions": {
			"endpoint=chat limit=all outcome=refused reason=global 2",
			"endpoint=chat limit=minute outcome=refused reason=limit 2",
			"endpoint=chat outcome=allowed 5",
			"endpoint=chat outcome=refused reason=denied 1",
			"endpoint=closed limit=minute outcome=unavailable 2",
			"endpoint=local outcome=allowed 2", "endpoint=login outcome=allowed 1",
			"endpoint=login outcome=refused reason=attempts 1",
			"endpoint=login outcome=refused reason=blocked 1",
			"endpoint=open outcome=allowed 2", "endpoint=other outcome=error 1",
			"endpoint=pay limit=day outcome=refused reason=budget 1",
			"endpoint=pay limit=day outcome=refused reason=too_large 1",
			"endpoint=pay outcome=allowed 2", "endpoint=pay outcome=error 1",
			"endpoint=pay outcome=refused reason=blocked 1",
			"endpoint=prove outcome=refused reason=challenge 1",
		},
		"rlfunc.guard.deny_cache.hits": {"endpoint=chat 2", "endpoint=pay 1"},
		"rlfunc.guard.warnings":        {"limit=day 2"},
		"rlfunc.guard.duplicates":      {"endpoint=chat 1"},
		"rlfunc.guard.errors":          {"error.type=breaker 3", "error.type=endpoint 1", "error.type=state 1", "error.type=unavailable 3"},
		"rlfunc.guard.fallbacks":       {"fallback=local 2", "fallback=open 2"},
		"rlfunc.guard.refunds":         {"outcome=refunded 2"},

		"rlfunc.guard.undefined_identities": {"1"},
		"rlfunc.guard.policy.reloads":       {"outcome=failed 1", "outcome=loaded 1"},
		"rlfunc.guard.prefetch.calls":       {"limit=total outcome=answered 3", "limit=total outcome=failed 1"},
		"rlfunc.guard.prefetch.tokens":      {"limit=total outcome=lost 2", "limit=total outcome=refunded 3", "limit=total outcome=taken 9"},
		"rlfunc.guard.redis.duration": {
			"endpoint=chat 7", "endpoint=closed 1", "endpoint=local 1", "endpoint=login 3",
			"endpoint=open 1", "endpoint=pay 5", "endpoint=prove 1",
		},
		"rlfunc.guard.settlements":     {"outcome=failed 2", "outcome=settled 3"},
		"rlfunc.guard.shadow.refusals": {"endpoint=chat limit=trial 2"},
		"rlfunc.guard.unknown_usages":  {"reason=untold 1"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after the traffic (-want +got):\n%s", diff)
	}
}

// Requests cannot create series: not by subjects, receipts, or endpoints that the policy does not have.
func TestSeries_doNotGrowWithSubjects(t *testing.T) {
	exported, collect := measured(t)
	play(t, exported)
	before := 0
	for _, m := range collect() {
		before += len(series(m))
	}
	var first, last runtime.MemStats
	heap := func(m *runtime.MemStats) {
		runtime.GC()
		runtime.ReadMemStats(m)
	}
	heap(&first)
	for i := range 100_000 {
		name := "ip" + strconv.Itoa(i) + "=" + strconv.Itoa(i)
		r := guard.Request{Endpoint: "chat", Subjects: []string{name, name + "=1"}, Receipt: name}
		exported.Observe(t.Context(), guard.Decided{Request: r, Redis: 1, Duration: 1, Decision: &guard.Decision{
			Endpoint: "chat", Subject: name, Reason: guard.ReasonLimit, Refused: name, RetryAfter: 1,
			Limits: []guard.LimitState{{Name: "minute", Subject: name}},
		}})
		r.Endpoint = name
		exported.Observe(t.Context(), guard.Decided{Request: r, Err: fmt.Errorf("decide %q: %w", name, guard.ErrEndpoint)})
		exported.Observe(t.Context(), guard.Refunded{Subject: name})
		exported.Observe(t.Context(), guard.Settled{Subject: name, Reservation: name, Outcome: "settled"})
	}
	heap(&last)
	after := 0
	for _, m := range collect() {
		after += len(series(m))
	}
	if after != before {
		t.Errorf("%d series before 100,000 subjects, %d after", before, after)
	}
	if grown := int64(last.HeapAlloc) - int64(first.HeapAlloc); grown > 1<<20 {
		t.Errorf("the heap has grown by %d bytes for 100,000 subjects", grown)
	}
}
